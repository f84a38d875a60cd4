from ..domains._domains cimport Domain


cdef class Quadratic:
    cdef readonly Py_ssize_t room            # the most coordinates of a system
    cdef Domain domain
    cdef bint projects                       # onto a domain by a projection in the norm of A
    cdef bint descends                       # by coordinates: an L1 penalty, or a domain of intervals
    cdef double* A                           # (n, n), symmetric
    cdef double* b                           # (n,)
    cdef double* x                           # (n,) where a descent begins, and the minimiser
    cdef double* l1                          # (n,) the L1 penalty of each coordinate
    cdef unsigned char* free                 # (n,) no domain
    cdef double* F                           # scratch of factors
    cdef double* scale
    cdef double* slope
    cdef object owners

    cdef void descend(self, Py_ssize_t n) noexcept nogil
    cdef int project(self, Py_ssize_t n) noexcept nogil
    cdef double value(self, Py_ssize_t n) noexcept nogil
    cdef int minimise(self, Py_ssize_t n) noexcept nogil
    cdef bint factor(self, Py_ssize_t n) noexcept nogil
    cdef void solve(self, double* x, Py_ssize_t n) noexcept nogil
