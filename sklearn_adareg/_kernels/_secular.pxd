cdef enum:
    MOST_STEPS = 24          # Lanczos vectors

cdef double level_of(const double* diagonal, const double* beside, double* y, int k, double norm, double mu) noexcept nogil
cdef double secular_step(const double* T, double* y, double* z, int k, double norm, double delta, double lowest) noexcept nogil
