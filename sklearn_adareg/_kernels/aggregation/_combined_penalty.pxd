from ..preconditioners.diagonal._cells cimport Cells
from ..preconditioners.diagonal._coordinatewise cimport Coordinatewise
from ..data._rows cimport Row
from ..state._setting cimport Clock, Setting
from ..scaling._units cimport FeatureScale


cdef class CombinedPenalty:
    cdef Coordinatewise structure
    cdef Setting setting
    cdef Clock clock
    cdef Cells cells
    cdef FeatureScale scale
    cdef Py_ssize_t width, averages  # candidates, and how many of them are averages
    cdef double[:, :, ::1] Q         # per v
    cdef double[::1] numbers         # read since Q was last computed; features seen
    cdef double[::1] w               # one coefficient of every candidate

    cdef void add(self, Py_ssize_t which, const double* v, double unit, double* gradient, double* S) noexcept nogil
    cdef void count(self, Row* row) noexcept nogil
    cdef void commit(self, const double[:, ::1] v) noexcept nogil
    cdef void renew(self, const double[:, ::1] v) noexcept nogil
