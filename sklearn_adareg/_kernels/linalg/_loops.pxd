# The loops of _loops.h, as Cython sees them.
from libc.stdint cimport int32_t, uint32_t

cdef extern from "_loops.h" nogil:
    double dot "adareg_dot"(const double* a, const double* b, Py_ssize_t n)
    void ask_for "adareg_ask_for"(const void* start, Py_ssize_t bytes)
    double take_double "adareg_take_double"(const double* a, double* z, Py_ssize_t n)
    double take_float "adareg_take_float"(const float* a, double* z, Py_ssize_t n)
    uint32_t take_numbers "adareg_take_numbers"(const int32_t* a, int* number, Py_ssize_t n)
    double log1p_of_unit "adareg_log1p_of_unit"(double e)
    void vector_dots "adareg_vector_dots"(const double* z, const double* x, double* m, Py_ssize_t n, Py_ssize_t L)
    double sparse_dot "adareg_sparse_dot"(const double* z, const int* index, const double* x, Py_ssize_t n)
    void rank_one "adareg_rank_one"(double a, const double* v, double* A, Py_ssize_t D)
    void add_squares "adareg_add_squares"(const double* g, Py_ssize_t m, double* A, Py_ssize_t D)
    void mirror "adareg_mirror"(double* A, Py_ssize_t n)
    void axpy "adareg_axpy"(double a, const double* x, double* y, Py_ssize_t n)
    void combine "adareg_combine"(const double* matrix, Py_ssize_t stride, const int* index, const double* w,
                                  Py_ssize_t n, double* out, Py_ssize_t D)
    void dots "adareg_dots"(const double* matrix, const double* b, double* out, Py_ssize_t D)
    void square_in "adareg_square_in"(const double* z, const double* s, double* G, Py_ssize_t n, Py_ssize_t L)
    void scaled_step "adareg_scaled_step"(const double* z, const double* hs, double C, double* x, double* u,
                                          Py_ssize_t n, Py_ssize_t L)
    void record_dots "adareg_record_dots"(const double* x, const double* G, const double* u, Py_ssize_t stride, const int* index,
                                          const double* z, double* m, double* a, double* v, Py_ssize_t n, Py_ssize_t L)
    void fade_in "adareg_fade_in"(const double* S, double fade, double h, const double* f, double* T, Py_ssize_t width)
    void small_solve "adareg_small_solve"(const double* S, double prior, double* g, Py_ssize_t width)
