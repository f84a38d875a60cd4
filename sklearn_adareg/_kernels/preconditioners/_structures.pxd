from ..domains._domains cimport Domain
from ..potentials._potentials cimport Potential
from ..data._rows cimport Row
from ..state._setting cimport Clock, Forgetting, Setting
from ..state._undo cimport UndoLog
from ..scaling._units cimport FeatureScale

cdef enum:
    POTENTIAL_RAISED = -1, NOT_PROJECTED = -2, NOT_FINITE = -3     # why a verb gives up; 0: all is well


cdef class Structure:
    cdef readonly Setting setting
    cdef readonly Potential potential
    cdef readonly Domain domain
    cdef readonly Clock clock
    cdef readonly dict arrays
    cdef FeatureScale scale          # None: features in raw units
    cdef Forgetting memory           # None: nothing is forgotten
    cdef double[::1] rho             # per weight vector: what steps are multiplied with
    cdef double[::1] loss_units      # per weight vector: the gradient of the loss itself over its own; penalties are on that scale
    cdef bint penalised
    cdef bint unconstrained          # no domain
    cdef bint projects_whole         # a domain whose projection moves the whole point
    cdef bint always_steps           # moves even when no weight vector has a slope
    cdef bint fused                  # can learn from a row in one pass in which nothing can fail
    cdef bint steep                  # slopes of the loss are unbounded
    cdef bint logistic               # the loss is log(1 + exp(−ym)) in each weight vector
    cdef const double* curvatures    # per weight vector: ℓ'' of the round under way, or NULL: steps are explicit
    cdef double* average_margins     # per weight vector: where ``predict`` leaves the margins of the averages, or NULL
    cdef readonly bint evaluates_published         # what ``predict`` gives are the margins of the weights that would be published
    cdef readonly bint by_columns    # some coordinates can be published without the others
    cdef const double* slopes        # per weight vector: ω ℓ' of the round under way
    cdef double round_weight         # ω of the round under way
    cdef double longest_step         # that a gradient of norm 1 can cause
    cdef double[::1] weighted_slopes
    cdef unsigned char[::1] inactive    # per weight vector: neither learns nor forgets in this round

    cdef bint wants_curvatures(self, bint steep) noexcept nogil
    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil
    cdef double weight_root(self) noexcept nogil
    cdef const double* entering(self, const double* slopes) noexcept nogil

    cdef bint look_up(self, Row* row, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                      double* margin) noexcept nogil
    cdef void enter(self, Row* row) noexcept nogil
    cdef void predict(self, Row* row, double* margins) noexcept nogil
    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil
    cdef int precondition(self, Row* row) noexcept nogil
    cdef int update(self, Row* row) noexcept nogil
    cdef void learn(self, Row* row, const double* slopes) noexcept nogil
    cdef int rest(self, Row* row) noexcept nogil
    cdef void abandon(self, Row* row) noexcept nogil


cdef class Matrices:
    cdef int step(self, Py_ssize_t e, double* g, const double* b, Row* row, double slope, double root, double eta,
                  double* out) noexcept nogil
    cdef void commit(self, Py_ssize_t e, double* g, Py_ssize_t n=*) noexcept nogil
    cdef void pass_by(self, Py_ssize_t e, double kept, double lost) noexcept nogil
    cdef int explicit(self, Py_ssize_t e, bint touched, double eta, double* H) noexcept nogil
    cdef bint explicit_anew(self, Py_ssize_t e, const double* g, double eta, double* H) noexcept nogil
    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t count) noexcept nogil
    cdef void carry(self, Py_ssize_t e, Py_ssize_t i, double growth) noexcept nogil
    cdef int solve(self, Py_ssize_t e, double* b, double eta, double* out) noexcept nogil
