# The loops of _free_loops.h, as Cython sees them.

cdef extern from "_free_loops.h" nogil:
    void sweep "adareg_sweep"(const double* K, const double* inverse, double lower, double upper, double* x, double* w, Py_ssize_t d,
                              Py_ssize_t n)
    void gather "adareg_gather"(const double* K, Py_ssize_t n, const int* index, double* block, Py_ssize_t m)
    Py_ssize_t select "adareg_select"(const signed char* state, bint zero, int* index, Py_ssize_t d)
    Py_ssize_t bound_states "adareg_bound_states"(double** of, double lower, double upper, double reach, double slack,
                                                  signed char* state, Py_ssize_t d)
    Py_ssize_t sum_states "adareg_sum_states"(double** of, double level, bint two_signs, double reach, double slack,
                                              signed char* state, Py_ssize_t d)
