# The loops of _paired_loops.h, as Cython sees them.
cdef extern from "_paired_loops.h" nogil:
    const Py_ssize_t VECTORS_TOGETHER "ADAREG_BLOCK"

    void paired_grow "adareg_paired_grow"(const double* z, const double* s, const double* fast, double* G, double* h, double* lengths,
                                          Py_ssize_t n, Py_ssize_t L)
    void paired_step "adareg_paired_step"(const double* z, const double* es, const double* h, double C, double* x, double* u,
                                          Py_ssize_t n, Py_ssize_t L)
    void paired_scatter "adareg_paired_scatter"(double* x, double* G, double* u, Py_ssize_t stride, const int* index, const double* z,
                                                const double* es, double C, const double* v, const double* h, Py_ssize_t n,
                                                Py_ssize_t L)
    void recent_dots "adareg_recent_dots"(const double* recent, Py_ssize_t stride, const int* index, const double* z, double* margins,
                                          Py_ssize_t n, Py_ssize_t K)
    void recent_steps "adareg_recent_steps"(const double* z, const double* h, double longer, double most, double* own,
                                            double* lengths, Py_ssize_t n, Py_ssize_t K)
    void recent_move "adareg_recent_move"(double* recent, Py_ssize_t stride, const int* index, const double* z, const double* es,
                                          const double* own, Py_ssize_t n, Py_ssize_t K)
