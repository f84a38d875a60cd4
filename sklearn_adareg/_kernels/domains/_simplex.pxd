from sklearn_adareg._kernels.domains._domains cimport Domain


cdef class SumDomain(Domain):
    cdef bint two_signs              # |c_i| is summed, c_i may be negative
    cdef double[::1] _start


cdef class L1Ball(SumDomain):
    pass


cdef class Simplex(SumDomain):
    pass
