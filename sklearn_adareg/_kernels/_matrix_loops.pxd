# The loops of _matrix_loops.h, as Cython sees them.
cdef extern from "_matrix_loops.h" nogil:
    bint stay_narrow "adareg_stay_narrow"(bint wish)
    void add_outer "adareg_add_outer"(const double* g, Py_ssize_t m, double* A, Py_ssize_t n)
    double turn "adareg_turn"(const double* V, const double* roots, const double* h, double eta, const double* g, double* along,
                              double* b, double* out, Py_ssize_t n)
