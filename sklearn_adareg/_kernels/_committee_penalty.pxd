from ._setting cimport Clock, Setting


cdef class CommitteePenalty:
    cdef Setting setting
    cdef Clock clock
    cdef double* x                   # (L, D) iterates,
    cdef double* u                   # and what their averages are behind them, or NULL
    cdef object owner
    cdef double[:] factors           # of the features' units
    cdef Py_ssize_t S, R             # steady members and all
    cdef Py_ssize_t first            # of the other candidates, behind the members themselves
    cdef Py_ssize_t[::1] steady_members
    cdef double[:, ::1] numbers      # per group: penalties of the candidates, then the two Q
    cdef double[:, ::1] candidates   # (others, S + R): what averages and iterates count in each; the first two are of averages
    cdef double[::1] w               # one coefficient of the members

    cdef bint due(self) noexcept nogil
    cdef void renew(self, Py_ssize_t group, Py_ssize_t vectors, const double* steady_v, const double* recent_v) noexcept nogil
    cdef void add(self, Py_ssize_t group, bint steady, const double* v, double unit, double* gradient, double* S) noexcept nogil
