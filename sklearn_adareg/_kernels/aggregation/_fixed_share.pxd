from ..losses._losses cimport Loss, PointLoss

cdef enum:
    # what the bound of a layer adds up: δ_t, which lacks the logarithm of PRODUCT, o_t, −ln(1 − a_t), s_t where some take no part,
    # and how much more those that rest lose in this layer than in the first one, which lacks that of RATIO
    DELTA, BEYOND, SWITCHES, PRODUCT, APART, RESTED, RATIO, TERMS
    LEAST = 0, PUBLISHED = 1           # in the last row of sums: the least loss of each round, and what is published above it


cdef class FixedShare:
    cdef readonly Py_ssize_t B, N, C, layers, regressions    # base candidates, all, margins of each, rates
    cdef Py_ssize_t room                     # N in whole vectors
    cdef Py_ssize_t always, lanes            # candidates that never rest; those that are evaluated now, in whole vectors
    cdef const Py_ssize_t* place             # (parts, B) where parts of base candidates stand
    cdef bint resting
    cdef double published_loss               # of the last row
    cdef Loss loss
    cdef PointLoss point                     # None: a softmax
    cdef bint logistic, regresses
    cdef readonly dict arrays
    cdef double* weights                     # (problems, layers, room)
    cdef double* top                         # (problems, layers)
    cdef double* sums                        # (problems, layers + 2, TERMS)
    cdef double* totals                      # (problems, room) capped losses of each candidate
    cdef double* regression                  # of each problem and regression: G (B, B), r (B), v (B)
    cdef unsigned char* active               # (B,) takes part in what is published
    cdef double* m                           # (room, C) margins of all candidates
    cdef double* losses                      # (room,)
    cdef double* powers                      # (room,) e^(−ℓ)
    cdef double* of_layers                   # (layers + 1, C) margins, the last ones what is published; (layers + 1) losses
    cdef double* means                       # (layers,) Σ w ℓ of a row, above the least loss
    cdef bint whole                          # all candidates take part
    cdef double* scratch
    cdef double* mask                        # (room,) 1 where a candidate counts in what is published
    cdef double* awake                       # (room,) 1 where it does not rest
    cdef double* first                       # (N,) weights before the first row
    cdef object owners

    cdef double* of_problem(self, Py_ssize_t p, Py_ssize_t s) noexcept nogil
    cdef void rest(self, bint resting) noexcept nogil
    cdef double resting_part(self, Py_ssize_t p) noexcept nogil
    cdef void combine(self, Py_ssize_t p, const double* base, double* published) noexcept nogil
    cdef void learn(self, Py_ssize_t p, const double* target, double weight, double unit, double scale, double t) noexcept nogil
    cdef void evaluate(self, const double* margins, Py_ssize_t n, const double* target, double* losses) noexcept nogil
    cdef void note(self, Py_ssize_t p, const double* target, double factor, double least) noexcept nogil
    cdef void learn_layers(self, Py_ssize_t p, double a) noexcept nogil
    cdef void learn_regressions(self, Py_ssize_t p, const double* target, double weight, double unit, double scale,
                                double t) noexcept nogil
    cdef void solve_regressions(self, Py_ssize_t p, double unit) noexcept nogil
    cdef Py_ssize_t heaviest(self, Py_ssize_t p, Py_ssize_t n) noexcept nogil
    cdef void publish(self, const double* margins, double* published) noexcept nogil
    cdef void take_part(self, Py_ssize_t b, bint active) noexcept nogil
    cdef void find_masks(self) noexcept nogil
    cdef void shares(self, Py_ssize_t p, double* of_base) noexcept nogil
