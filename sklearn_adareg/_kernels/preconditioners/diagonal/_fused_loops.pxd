# The loops of _fused_loops.h, as Cython sees them: whole diagonal rounds with a power ψ inlined.
ctypedef void (*descend_loop)(const double* z, const double* s, const double* es, double C, double* G, double* x,
                              double* u, Py_ssize_t n, Py_ssize_t L) noexcept nogil
ctypedef void (*records_loop)(double* x, double* G, double* u, Py_ssize_t stride, const int* index, const double* z,
                              const double* s, const double* es, double C, double* v, double* h, Py_ssize_t n,
                              Py_ssize_t L) noexcept nogil

cdef extern from "_fused_loops.h" nogil:
    bint stay_narrow "adareg_stay_narrow"(bint wish)

    descend_loop inverse_root_descend "adareg_inverse_root_descend"
    descend_loop inverse_descend "adareg_inverse_descend"
    descend_loop inverse_cube_root_descend "adareg_inverse_cube_root_descend"
    descend_loop inverse_fourth_root_descend "adareg_inverse_fourth_root_descend"
    records_loop inverse_root_records "adareg_inverse_root_records"
    records_loop inverse_records "adareg_inverse_records"
    records_loop inverse_cube_root_records "adareg_inverse_cube_root_records"
    records_loop inverse_fourth_root_records "adareg_inverse_fourth_root_records"
