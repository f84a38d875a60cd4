from sklearn_adareg._kernels.domains._domains cimport Domain


cdef class Interval(Domain):
    pass
