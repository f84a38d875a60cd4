# The loops of _power_loops.h, as Cython sees them.
cdef extern from "_power_loops.h" nogil:
    bint stay_narrow "adareg_stay_narrow"(bint wish)

    void inverse_root_steps "adareg_inverse_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_steps "adareg_inverse_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_cube_root_steps "adareg_inverse_cube_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_fourth_root_steps "adareg_inverse_fourth_root_steps"(const double* lam, double* h, Py_ssize_t n)
