# The loops of _step_loops.h, as Cython sees them.
cdef extern from "_step_loops.h" nogil:
    double propose_outer "adareg_propose_outer"(const double* l, const double* r, const double* x, double* goal,
                                                Py_ssize_t K, Py_ssize_t D)
    double sizes "adareg_sizes"(const double* goal, Py_ssize_t n)
    void take_goal "adareg_take_goal"(double kept, double C, const double* goal, double* x, double* u, Py_ssize_t n)
