# The loops of _jacobi_loops.h, as Cython sees them.

cdef extern from "_jacobi_loops.h" nogil:
    void less_square "adareg_less_square"(double a, const double* A, const double* B, const double* g, double* M, Py_ssize_t n)
    bint definite "adareg_definite"(double* A, Py_ssize_t n)
    int eigen_near "adareg_eigen_near"(double* A, const double* V, double* d, double* work, Py_ssize_t n)
