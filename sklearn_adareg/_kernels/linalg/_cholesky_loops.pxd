# The loops of _cholesky_loops.h, as Cython sees them.

cdef extern from "_cholesky_loops.h" nogil:
    Py_ssize_t cholesky "adareg_cholesky"(double* A, Py_ssize_t n)
    void cholesky_solve "adareg_cholesky_solve"(const double* U, double* x, Py_ssize_t n)
    void symmetric_times "adareg_symmetric_times"(const double* A, const double* x, double* out, Py_ssize_t n)
