cpdef enum:
    FINISHED, STRAY_COLUMN, LOSS_OVERFLOW, GRADIENT_OVERFLOW, STEP_OVERFLOW, POTENTIAL_FAILED, PROJECTION_FAILED


cdef class Tally:
    cdef public double loss          # Σ ω ℓ
    cdef public double weight        # Σ ω
    cdef public Py_ssize_t rounds
    cdef public int status
