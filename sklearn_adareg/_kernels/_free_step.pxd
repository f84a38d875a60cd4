from ._domains cimport Domain
from ._free_set cimport FreeSet
from ._inverse cimport Inverse


cdef class FreeStep:
    cdef Domain domain
    cdef Inverse inverse
    cdef FreeSet free
    cdef double* x                  # the step to project, to be set before, in raw units:
    cdef double* a
    cdef double* f
    cdef double[::1] back           # H times the multipliers, and √H_ii
    cdef double[::1] roots

    cdef int project(self, Py_ssize_t lane, double weight, double factor, const double* g, const double* units,
                     double* goal) noexcept nogil
    cdef double residual(self, Py_ssize_t lane, double weight) noexcept nogil


cdef FreeStep free_step(Domain domain, Inverse inverse)
