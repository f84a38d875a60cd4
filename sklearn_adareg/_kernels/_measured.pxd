from ._columns cimport Column, Columns
from ._full cimport Full
from ._members cimport Members
from ._rows cimport Row


cdef class Measured(Full):
    cdef Members members
    cdef Columns columns
    cdef double[::1] zc                  # the row, centered
    cdef double[::1] filled              # the same with the centered zeros of a sparse row
    cdef const int* index                # coordinates of its n numbers z, or NULL: all of them in order
    cdef const double* z
    cdef Py_ssize_t n
    cdef bint moved                      # the row, or weights that it met, are not those of ``show_margins``
    cdef bint away                       # a centered feature is zero in the row, and so away from its center
    cdef Py_ssize_t centered             # how many features have a center
    cdef Py_ssize_t entered              # how many are in the matrices,
    cdef Py_ssize_t[::1] order           # and which, in the order in which they entered

    cdef void show_margins(self) noexcept nogil
    cdef double times_row(self, const double* numbers) noexcept nogil
    cdef void center_row(self, Row* row) noexcept nogil
    cdef void fill(self, Row* row) noexcept nogil
    cdef double measure(self, Row* row) noexcept nogil
    cdef void shorten(self, double by) noexcept nogil
    cdef double ridge_of(self, Py_ssize_t lane, Py_ssize_t i) noexcept nogil
    cdef void renew_ridges(self, Row* row) noexcept nogil
    cdef void renew_ridge(self, Py_ssize_t i, Column* column, double square) noexcept nogil
    cdef void move_center(self, Py_ssize_t i, Column* column, double by) noexcept nogil
    cdef void start_anew(self, Py_ssize_t i, Column* column, double factor) noexcept nogil
