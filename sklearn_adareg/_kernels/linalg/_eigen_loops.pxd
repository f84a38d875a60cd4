# The loops of _eigen_loops.h, as Cython sees them.

cdef extern from "_eigen_loops.h" nogil:
    int small_eigen "adareg_small_eigen"(double* A, double* d, double* e, Py_ssize_t n)
    bint is_definite "adareg_is_definite"(double* A, Py_ssize_t n)
