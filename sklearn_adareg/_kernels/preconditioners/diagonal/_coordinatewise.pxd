cimport cython

from ...linalg._loops cimport dot, vector_dots
from ...data._rows cimport Row
from .._structures cimport Structure


@cython.final
cdef class Cells:
    cdef Py_ssize_t L, D
    cdef Py_ssize_t stride           # from one coordinate's number to the next one's
    cdef double *x
    cdef double *u                   # Σ C_s δ_s, or NULL
    cdef double *theta               # Σ g_s, or NULL
    cdef double *G                   # or NULL
    # of the coordinates that the row touches, n·L numbers each
    cdef bint records                # they are worked on where they lie, as records
    cdef bint direct                 # they are worked on where they lie, as vectors
    cdef Py_ssize_t span             # how far loops over them may go: to the end of the last vector where there is room
    cdef double *xb
    cdef double *ub
    cdef double *tb
    cdef double *Gb
    cdef double *hb                  # ψ(G)/η
    cdef double *nb                  # where they go
    cdef double *room                # for the G of a row's records
    cdef double[::1] workspace

    cdef void make_room(self, Py_ssize_t widest)
    cdef void take_copies(self, Row* row) noexcept nogil
    cdef void gather(self, Row* row, const double* field, double* buffer) noexcept nogil
    cdef void scatter(self, Row* row, const double* buffer, double* field) noexcept nogil
    cdef void scatter_all(self, Row* row) noexcept nogil

    cdef inline void take_records(self) noexcept nogil:
        """A sparse row: work on the records, with room for the row's G."""
        self.records = True
        self.Gb = self.room

    cdef inline void take_vectors(self, Row* row) noexcept nogil:
        """A dense row: work on the arrays themselves."""
        self.records, self.direct = False, True
        # of a single coordinate nobody knows what lies behind it
        self.span = row.room if self.L == 1 and self.D > 1 else row.n
        self.xb, self.ub, self.tb, self.Gb = self.x, self.u, self.theta, self.G

    cdef inline void dots(self, Row* row, const double* numbers, double* margins) noexcept nogil:
        """Σ_j z_j numbers_jl of each weight vector."""
        if self.L == 1:
            margins[0] = dot(row.z, numbers, self.span)
        else:
            vector_dots(row.z, numbers, margins, row.n, self.L)


cdef class Coordinatewise(Structure):
    cdef Cells cells
    cdef double[::1] last            # the round in which a coordinate was last touched
    cdef double[:, ::1] subgradient  # of the L1 penalty, in −1 to 1, or None
    cdef double[::1] charged         # the round up to which a coordinate has forgotten, where it does
    cdef double[::1] gauge           # of each weight vector's point, for the domain
    cdef double[::1] astray          # weight vectors whose point is not the unprojected one (dual averaging), or of no known gauge
    cdef bint fade_together          # the sums of all coordinates forget at once, by a common factor
    cdef bint moves_all              # every coordinate moves in every round
    cdef double[::1] units           # of all coordinates, for the domain
    cdef bint in_place               # dense rows are worked on where the numbers lie: no piece can fail
    cdef bint plain                  # mirror descent without penalty and domain
    cdef double[::1] es              # per weight vector: η times the slope
    cdef double[::1] point           # one weight vector as a whole, for the domain
    cdef double[::1] steps
    cdef double[::1] raw             # raw weights of the touched coordinates, for the domain's gauge
    cdef double[::1] pull            # per weight vector: the slope that a step follows
    cdef double[::1] lengths         # per weight vector: how far a step of unit slope takes the margin
    cdef double[::1] squares, mean_curvatures, weight      # of residuals, where they have units
    cdef double[::1] now_rate, now_step, now_unit           # per weight vector, of ``begin_publishing``
    cdef double rounds_now

    cdef bint by_records(self) noexcept nogil
    cdef void measure_steps(self, Row* row) noexcept nogil
    cdef void shorten(self) noexcept nogil
    cdef double vector_rate(self, Py_ssize_t vector) noexcept nogil
    cdef void descend(self, Row* row) noexcept nogil
    cdef void vector_slopes(self) noexcept nogil
    cdef void aim(self, Row* row) noexcept nogil
    cdef void move(self, Row* row) noexcept nogil
    cdef void track_gauge(self, Row* row, Py_ssize_t vector) noexcept nogil
    cdef void confine(self, Row* row) noexcept nogil
    cdef void settle(self, Row* row, Py_ssize_t vector) noexcept nogil
    cdef void begin_publishing(self) noexcept nogil
    cdef double square_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil
    cdef double step_now(self, Py_ssize_t i, Py_ssize_t vector) noexcept nogil
    cdef double kept_now(self, Py_ssize_t i) noexcept nogil
    cdef double unit_now(self, Py_ssize_t i) noexcept nogil
    cdef double charged_now(self, Py_ssize_t i, Py_ssize_t vector, double h) noexcept nogil
    cdef bint would_be_zero(self, Py_ssize_t i, Py_ssize_t k, double weight, const double* shares) noexcept nogil
    cdef double weight_now(self, Py_ssize_t i, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                           const double* shares) noexcept nogil
    cdef bint works_in_place(self, Row* row) noexcept nogil
    cdef void catch_up(self, Row* row) noexcept nogil
    cdef void forget(self, Row* row) noexcept nogil
    cdef void forget_at(self, double* G, double* theta, double* u, Py_ssize_t n, double kept, double lost) noexcept nogil
    cdef void forget_rounds(self, Py_ssize_t first, Py_ssize_t n, double kept, double lost) noexcept nogil
    cdef void catch_up_all(self) noexcept nogil
    cdef void note_charged(self, Row* row, double when) noexcept nogil
    cdef void keep_raw_weights(self, Row* row) noexcept nogil
    cdef int change_units(self, Row* row) noexcept nogil
    cdef int carry(self, Py_ssize_t e, Py_ssize_t vector, double grown) noexcept nogil
    cdef void collect_units(self, Row* row) noexcept nogil
    cdef void vector_steps(self, Row* row, Py_ssize_t vector, double* h) noexcept nogil
