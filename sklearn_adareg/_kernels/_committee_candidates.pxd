from ._committee_penalty cimport CommitteePenalty
from ._methods cimport Method
from ._objective cimport Objective
from ._regression cimport SmallRegression
from ._units cimport MeanLoss

cdef enum:
    DISCOUNTS = 4


cdef class Candidates(Method):
    cdef Objective combined                   # the loss at the combined margins
    cdef SmallRegression steady, recent       # the regressions on the margins of steady members, and of all
    cdef bint stacked                         # the regressions are candidates
    cdef Py_ssize_t S, R, groups, members_of_group
    cdef Py_ssize_t size                      # numbers per group, and where among them:
    cdef Py_ssize_t steady_losses, steady_v, steady_S, steady_mixed, discounted, recent_losses, recent_v, recent_S, side_losses
    cdef Py_ssize_t surprise
    cdef Py_ssize_t[::1] steady_members       # which of the R members never forget
    cdef double[:, ::1] numbers               # (groups, size)
    cdef double[:, ::1] new_numbers
    cdef MeanLoss mean                        # of the combination: the unit of regression losses
    cdef double[::1] shares                   # scratch: weights of the steady candidates, of the recent ones, and of the two sides
    cdef double[:, ::1] discounted_shares     # (discounts, R)
    cdef double[:, ::1] coefficients          # (K, S + R) of the steady averages and of all iterates in what predicts
    cdef double[:, ::1] f_steady, f_recent    # (K, S) and (K, R): margins that the candidates are made of
    cdef double[:, ::1] candidates            # (candidates, K): margins
    cdef double[:, ::1] slopes_at, curvatures_at      # (2, K): at the margins of the two regressions
    cdef double[::1] M, M_slopes, scratch
    cdef bint asleep                          # the recent side rests in this round
    cdef CommitteePenalty penalty             # None: there is none
    cdef double[:, ::1] penalties             # of the members of each group, then in the order of ``candidates``

    cdef void find_weights(self, Py_ssize_t group) noexcept nogil
    cdef bint may_rest(self, const double* numbers) noexcept nogil
    cdef void predict_candidates(self, Py_ssize_t group) noexcept nogil
    cdef void judge(self, Py_ssize_t group, const double* target, double weight) noexcept nogil
    cdef void regress(self, SmallRegression regression, Py_ssize_t group, const double* margins, const double* target, double weight,
                      double fade) noexcept nogil
    cdef double loss_of(self, Py_ssize_t group, const double* margins, const double* target) noexcept nogil
    cdef void renew_penalty(self, Py_ssize_t group) noexcept nogil
