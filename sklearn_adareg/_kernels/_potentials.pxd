from ._loops cimport descend_loop, records_loop


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
