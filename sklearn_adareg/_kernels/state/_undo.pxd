cimport cython

ctypedef struct Entry:
    double* array
    Py_ssize_t n, stride
    Py_ssize_t at                    # where the copy begins


@cython.final
cdef class UndoLog:
    cdef Entry* entries
    cdef double* copies
    cdef Py_ssize_t count, room      # entries
    cdef Py_ssize_t size, capacity   # doubles
    cdef bint failed                 # memory ran out

    cdef inline void clear(self) noexcept nogil:
        self.count = self.size = 0

    cdef void save(self, double* array, Py_ssize_t n, Py_ssize_t stride=*) noexcept nogil
    cdef void restore(self) noexcept nogil
