from ._cells cimport Cells
from ._rows cimport Row
from ._setting cimport Clock, Setting
from ._units cimport FeatureScale


cdef class CombinedPenalty:
    cdef Setting setting
    cdef Clock clock
    cdef Cells cells
    cdef FeatureScale scale          # None: features in raw units
    cdef Py_ssize_t width, averages  # candidates, and how many of them are averages
    cdef double[:, :, ::1] Q         # per v: l2 Σ_i w_i w_iᵀ over the coefficients
    cdef double[:, ::1] q            # per v: l1 Σ_i sign(v·w_i) w_i
    cdef double[::1] work            # numbers read since the two were last computed
    cdef double[::1] w               # one coefficient of every candidate

    cdef void add(self, Py_ssize_t which, const double* v, double unit, double* gradient, double* S) noexcept nogil
    cdef void commit(self, Row* row, const double[:, ::1] v) noexcept nogil
    cdef void renew(self, const double[:, ::1] v) noexcept nogil
