from ._methods cimport Method
from ._objective cimport Objective


cdef class Committee(Method):
    cdef Objective combined                   # the loss at the combined margins
    cdef double[:, ::1] losses                # (K, R): Σ ω ℓ of each member's published margins, capped
    cdef double[::1] mean                     # per weight vector: Σ ω ℓ of the combination, then Σ ω: the unit of these losses
    cdef double[:, ::1] new_losses
    cdef double[::1] new_mean
    cdef double[::1] shares                   # of the R members, for one weight vector
    cdef double[::1] M                        # (K,) the combined margins
    cdef double[::1] M_slopes
    cdef const double* published_margins      # of the lanes: of the averages, or of the last iterates

    cdef void let_losers_rest(self) noexcept nogil
    cdef void find_shares(self, Py_ssize_t k) noexcept nogil
    cdef void judge(self, Py_ssize_t k, const double* target, double weight) noexcept nogil
    cdef double loss_at(self, Py_ssize_t k, double margin, const double* target) noexcept nogil
