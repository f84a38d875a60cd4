# The loops of _block_loops.h, as Cython sees them.

cdef extern from "_block_loops.h" nogil:
    ctypedef struct InverseRound "adareg_inverse_round":
        const Py_ssize_t* touched
        Py_ssize_t count, first
        Py_ssize_t n, vectors, vector, room
        double* P
        double* pending
        double* waiting
        const double* z
        double* x
        double* u
        double slope, rate
        double C
        Py_ssize_t* full
        Py_ssize_t n_full

    void inverse_rounds "adareg_inverse_rounds"(InverseRound* round)

    ctypedef struct RootRound "adareg_root_round":
        const Py_ssize_t* touched
        Py_ssize_t count, first
        Py_ssize_t n, vectors, vector, room
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
