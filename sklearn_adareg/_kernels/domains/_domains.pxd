# The sets the coefficients may be confined to. d counts coefficients: the intercept is always free.
cdef enum:
    NOT_PREPARED = -1     # project_full was called before prepare_full
    STALLED = -2          # no solution was found
    NOT_FINITE = -3       # the point, the matrix or the solution is not finite
    NOT_DEFINITE = -4     # the matrix has a negative eigenvalue far beyond rounding


cdef class Metric:
    cdef readonly Py_ssize_t d
    cdef readonly double ridge      # the diagonal has been multiplied by 1 + ridge
    cdef readonly long factorizations   # of the last projection
    cdef double scale               # the matrix is this many times H
    cdef double* H                  # d × d, both triangles
    cdef double* block              # a Cholesky factor
    cdef int order                  # its size
    cdef double[::1] _matrices
    cdef double[::1] _inverse_units
    cdef double[::1] _product

    cdef int load(self, const double* H, Py_ssize_t ldh, const double* units) noexcept nogil
    cdef bint raise_ridge(self) noexcept nogil
    cdef int factor_shifted(self, double mu) noexcept nogil
    cdef int factor_block(self, const Py_ssize_t* index, Py_ssize_t n) noexcept nogil
    cdef int factor(self) noexcept nogil
    cdef void solve(self, double* right, int columns) noexcept nogil
    cdef void times(self, const double* v, double* out) noexcept nogil
    cdef double residual(self, const double* u, const double* c, const double* w, double sum) noexcept nogil


cdef class Domain:
    cdef readonly Py_ssize_t d
    cdef readonly double radius
    cdef double sum                        # what |c_i| or c_i must sum up to at the boundary, or 0
    cdef readonly bint coordinatewise      # the projection in any diagonal norm is a clip to ...
    cdef readonly double lower, upper      # ... this interval
    cdef readonly Metric metric            # None until prepare_full()
    cdef readonly object solver            # of the polyhedra; None until prepare_full()
    cdef double[::1] _point                # the point to project, and the best c and w so far
    cdef double[::1] _bounds               # of each coordinate, lower ones first; None until prepare_full()
    cdef double[::1] _vectors              # scratch of every call
    cdef Py_ssize_t[::1] _order

    cdef bint contains(self, const double* c) noexcept nogil
    cdef bint accepts(self, const double* c) noexcept nogil
    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil
    cdef bint gauge_exceeds(self, double gauge) noexcept nogil
    cdef double shrinkage(self, double gauge) noexcept nogil
    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil
    cdef int project_full(self, double* c, double* w, const double* H, Py_ssize_t ldh, const double* units,
                          const double* start) noexcept nogil
    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil


cdef class NoDomain(Domain):
    pass


cdef void shrink_into(Domain domain, double* c, double limit) noexcept nogil
