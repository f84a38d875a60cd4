from ._combined_penalty cimport CombinedPenalty
from ._methods cimport Method
from ..scaling._objective cimport Objective
from ._stack_regression cimport StackRegression
from ..scaling._units cimport MeanLoss


cdef class Stack(Method):
    cdef Objective combined                   # the loss at the combined margins
    cdef CombinedPenalty penalty              # None: there is none
    cdef readonly StackRegression steady
    cdef readonly StackRegression recent      # None: nothing is forgotten
    cdef Py_ssize_t stacks                    # v of each weight vector, or one of all
    cdef double[:, ::1] f                     # (K, width): margins of the averages, of the last iterates, and of the recent ones
    cdef double[::1] M                        # (K,) the combined margins
    cdef double[::1] M_slopes
    cdef double[:, ::1] losses, new_losses    # (stacks, 3): of the steady and the recent regression, discounted, and of the last rows
    cdef bint inactive                          # the recent side is inactive in this round
    cdef double[::1] share                    # (stacks,): what the steady one counts
    cdef MeanLoss mean

    cdef void combine(self, const double* margins, const double* averages) noexcept nogil
    cdef bint may_be_inactive(self, const double* losses) noexcept nogil
    cdef void judge(self, Py_ssize_t which, const double* target, double weight) noexcept nogil
