# The loops of _block_loops.h, as Cython sees them.

cdef extern from "_block_loops.h" nogil:
    bint stay_narrow "adareg_stay_narrow"(bint wish)

    ctypedef struct InverseRound "adareg_inverse_round":
        const Py_ssize_t* touched
        Py_ssize_t count, first
        Py_ssize_t n, lanes, lane, room
        double* P
        double* pending
        double* waiting
        const double* z
        double* x
        double* u
        double slope, rate
        double C
        int cyclic
        Py_ssize_t* full
        Py_ssize_t n_full

    void inverse_rounds "adareg_inverse_rounds"(InverseRound* round)

    ctypedef struct RootRound "adareg_root_round":
        const Py_ssize_t* touched
        Py_ssize_t count, first
        Py_ssize_t n, lanes, lane, room
        int cyclic
        const double* H
        double* pending
        double* waiting
        double* s
        const double* stale
        double delta
        const double* z
        double* x
        double* u
        double slope, rate
        double C
        double* v
        Py_ssize_t* late
        Py_ssize_t n_late
        Py_ssize_t* full
        Py_ssize_t n_full

    void root_rounds "adareg_root_rounds"(RootRound* round)
