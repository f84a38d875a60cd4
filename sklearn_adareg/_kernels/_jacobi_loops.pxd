# The loops of _jacobi_loops.h, as Cython sees them.

cdef extern from "_jacobi_loops.h" nogil:
    bint definite "adareg_definite"(double* A, Py_ssize_t n)
    int eigen_near "adareg_eigen_near"(double* A, const double* V, double* d, double* work, Py_ssize_t n)
