# The loops of _kronecker_loops.h, as Cython sees them.
cdef extern from "_kronecker_loops.h" nogil:
    double outer_propose "adareg_outer_propose"(const double* l, const double* r, const double* x, double* goal,
                                                Py_ssize_t K, Py_ssize_t D)
    void outer_commit "adareg_outer_commit"(double C, const double* goal, double* x, double* u, Py_ssize_t n)
