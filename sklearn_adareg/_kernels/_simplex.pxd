# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
from sklearn_adareg._kernels._domains cimport Domain


cdef class SumDomain(Domain):
    cdef bint two_signs              # |c_i| is summed, c_i may be negative
    cdef double[::1] _start


cdef class L1Ball(SumDomain):
    pass


cdef class Simplex(SumDomain):
    pass
