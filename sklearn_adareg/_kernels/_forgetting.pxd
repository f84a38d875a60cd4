cimport cython
from libc.math cimport exp, expm1

from ._setting cimport Setting

cdef enum:
    TABLED = 1024                # powers of λ that are looked up


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
