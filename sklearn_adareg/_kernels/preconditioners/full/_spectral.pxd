from ._eigenbasis cimport Basis
from ._full cimport Full


cdef class FullSpectral(Full):
    cdef Basis basis

    cdef void restrict(self, double* G) noexcept nogil
