cimport cython

from ...scaling._forgetting cimport Forgetting
from ...linalg._inverse cimport Inverse
from ...state._setting cimport Setting
from ...state._undo cimport UndoLog


@cython.final
cdef class Fading:
    cdef Inverse inverse
    cdef Forgetting memory
    cdef double epsilon
    cdef double[::1] fade            # per weight vector: f
    cdef double[::1] turn            # the coordinate whose prior comes back next

    cdef double next_fade(self, Py_ssize_t vector) noexcept nogil
    cdef void pass_by(self, Py_ssize_t vector, double kept, double lost) noexcept nogil
    cdef Py_ssize_t turns(self, double lost) noexcept nogil
    cdef void give_back(self, Py_ssize_t vector, double lost) noexcept nogil
    cdef void anew(self, Py_ssize_t vector, double kept, double lost) noexcept nogil
    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t vectors) noexcept nogil
