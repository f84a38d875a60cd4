# The loops of _cyclic_loops.h, as Cython sees them.

cdef extern from "_cyclic_loops.h" nogil:
    enum:
        CYCLIC_SIZE "ADAREG_CYCLIC_SIZE"
    bint cyclic "adareg_cyclic"(Py_ssize_t n)
    void to_cyclic "adareg_to_cyclic"(const double* S, double* d)
    void from_cyclic "adareg_from_cyclic"(const double* d, double* S)
    void cyclic_product "adareg_cyclic_product"(const double* d, const double* x, double* y)
