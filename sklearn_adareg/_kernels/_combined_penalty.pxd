from libc.math cimport fabs, fmax

from ._cells cimport Cells
from ._coordinatewise cimport Coordinatewise
from ._rows cimport Row
from ._setting cimport Clock, Setting
from ._units cimport FeatureScale


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


cdef inline void touch(const double* w, const double* v, Py_ssize_t width, double l1, double l2, double* Q) noexcept nogil:
    """Q += (l1/|v·w| + l2) w wᵀ, where |v·w| counts as a tenth of the largest |w_a| at least: else a v that has once made it 0 would
    never leave that again."""
    cdef Py_ssize_t a, b
    cdef double factor, m = 0.0, size = 0.0
    for a in range(width):
        m += v[a] * w[a]
        size = fmax(size, fabs(w[a]))
    if size == 0.0:
        return
    factor = l1 / fmax(fabs(m), 0.1 * size) + l2
    for a in range(width):
        for b in range(width):
            Q[a * width + b] += (factor * w[a]) * w[b]


cdef inline void join(const double* Q, const double* v, double unit, Py_ssize_t width, double* gradient, double* S) noexcept nogil:
    """Q v and Q, in this unit of the loss, into the gradient and the matrix of a v."""
    cdef Py_ssize_t a, b
    for a in range(width):
        for b in range(width):
            gradient[a] += Q[a * width + b] / unit * v[b]
            S[a * width + b] += Q[a * width + b] / unit
