
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
