# The loops of _potential_loops.h, as Cython sees them.
from ._potentials cimport descend_loop, records_loop

cdef extern from "_potential_loops.h" nogil:
    bint stay_narrow "adareg_stay_narrow"(bint wish)

    void inverse_root_steps "adareg_inverse_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_steps "adareg_inverse_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_cube_root_steps "adareg_inverse_cube_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_fourth_root_steps "adareg_inverse_fourth_root_steps"(const double* lam, double* h, Py_ssize_t n)

    descend_loop inverse_root_descend "adareg_inverse_root_descend"
    descend_loop inverse_descend "adareg_inverse_descend"
    descend_loop inverse_cube_root_descend "adareg_inverse_cube_root_descend"
    descend_loop inverse_fourth_root_descend "adareg_inverse_fourth_root_descend"
    records_loop inverse_root_records "adareg_inverse_root_records"
    records_loop inverse_records "adareg_inverse_records"
    records_loop inverse_cube_root_records "adareg_inverse_cube_root_records"
    records_loop inverse_fourth_root_records "adareg_inverse_fourth_root_records"
