ctypedef void (*descend_loop)(const double* z, const double* s, const double* es, double C, double* G, double* x,
                              double* u, Py_ssize_t n, Py_ssize_t L) noexcept nogil
ctypedef void (*records_loop)(double* x, double* G, double* u, Py_ssize_t stride, const int* index, const double* z,
                              const double* s, const double* es, double C, double* v, double* h, Py_ssize_t n,
                              Py_ssize_t L) noexcept nogil


cdef class Potential:
    cdef readonly bint fallible      # calls back into Python and may fail: kernels then commit nothing before it has answered
    cdef public object error         # what it raised
    cdef descend_loop descend        # a whole diagonal round with this ψ inlined, or NULL
    cdef records_loop records        # the same on sparse rows whose numbers lie side by side
    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil


cdef class AdaGrad(Potential):
    pass


cdef class OnlineNewton(Potential):
    pass


cdef class PNorm(Potential):
    cdef double p


cdef class Callback(Potential):
    cdef object psi
    cdef int call(self, const double* lam, double* h, Py_ssize_t n) noexcept
