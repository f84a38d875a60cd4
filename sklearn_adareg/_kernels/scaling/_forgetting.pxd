cimport cython
from libc.math cimport exp, expm1

from ..state._setting cimport Setting

cdef enum:
    TABLED = 1024                # powers of λ that are looked up


cdef inline void keep(double* G, Py_ssize_t n, double kept, double prior) noexcept nogil:
    """n numbers of a diagonal G keep so much, and the prior comes back."""
    cdef Py_ssize_t i
    for i in range(n):
        G[i] = kept * G[i] + prior


cdef inline void keep_matrix(double* G, Py_ssize_t D, double kept, double prior) noexcept nogil:
    """The same of a D × D matrix, whose diagonal the prior is on."""
    cdef Py_ssize_t i
    for i in range(D * D):
        G[i] *= kept
    for i in range(D):
        G[i * D + i] += prior


@cython.final
cdef class Forgetting:
    cdef double lam              # λ
    cdef double lost             # 1 − λ
    cdef double log_lam
    cdef double[::1] powers, losses

    cdef inline double after(self, double rounds) noexcept nogil:
        """λ^rounds: what is kept."""
        return self.powers[<Py_ssize_t> rounds] if rounds < TABLED else exp(rounds * self.log_lam)

    cdef inline double lost_after(self, double rounds) noexcept nogil:
        """1 − λ^rounds, also where that is tiny."""
        return self.losses[<Py_ssize_t> rounds] if rounds < TABLED else -expm1(rounds * self.log_lam)
