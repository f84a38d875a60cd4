from ..state._setting cimport Clock


cdef class Potential:
    cdef readonly bint fallible      # calls back into Python and may fail: kernels then commit nothing before it has answered
    cdef readonly bint time_varying  # ψ depends on the round, which ``clock`` has
    cdef Clock clock
    cdef readonly double power       # a of ψ(λ) = η λ^(−a); NaN where ψ is no power
    cdef public object error         # what it raised
    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil
