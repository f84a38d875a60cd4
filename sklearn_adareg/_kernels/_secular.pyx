# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The multiplier of a sphere in the space of k Lanczos vectors, where the matrix is tridiagonal: O(k) a step of Newton's method."""
from libc.math cimport INFINITY, fabs, isfinite, sqrt

cdef double ROUNDING = 2.220446049250313e-16


cdef double level_of(const double* diagonal, const double* beside, double* y, int k, double norm, double mu) noexcept nogil:
    """The μ with ‖y‖ = 1 for y = norm (T + μI)⁻¹e_1, and that y, from a μ below it; not positive if there is none.

    T is tridiagonal, with ``beside`` from its second entry on beside the diagonal. Newton's method on 1/‖y‖ increases monotonically.
    """
    cdef double[MOST_STEPS] inverse
    cdef double[MOST_STEPS] below
    cdef double squares, bend, length, step, value
    cdef int i, _attempt
    for _attempt in range(60):
        # T + μI = LDLᵀ with 1/D in inverse and −L below the diagonal in below
        inverse[0] = 1 / (diagonal[0] + mu)
        y[0] = norm
        for i in range(1, k):
            below[i] = -beside[i] * inverse[i - 1]
            inverse[i] = 1 / (diagonal[i] + mu + below[i] * beside[i])
            y[i] = below[i] * y[i - 1]
        squares = bend = 0
        for i in range(k):
            if not inverse[i] > 0:
                return -1
        y[k - 1] *= inverse[k - 1]
        for i in range(k - 2, -1, -1):
            y[i] = y[i] * inverse[i] + below[i + 1] * y[i + 1]
        # yᵀ(T + μI)⁻¹y = ‖D^(−1/2) L⁻¹ y‖²
        value = 0
        for i in range(k):
            squares += y[i] * y[i]
            value = y[i] + (below[i] * value if i > 0 else 0)
            bend += value * value * inverse[i]
        length = sqrt(squares)
        step = (length - 1) * squares / bend
        mu += step
        if not fabs(step) > 4 * ROUNDING * mu:
            break
    return mu


cdef double secular_step(const double* T, double* y, double* z, int k, double norm, double delta,
                         double lowest) noexcept nogil:
    """The δ ≥ lowest with norm · ‖y‖ = 1 for y = (I + δT)⁻¹e_1, from a first guess of it; z = −dy/dδ there.

    T[2i] is the diagonal entry of row i, and T[2i + 1] couples it to the next row.
    """
    cdef double[MOST_STEPS] inverse
    cdef double[MOST_STEPS] below
    cdef double squares, bend, length, step, last = INFINITY
    cdef int i, _attempt
    for _attempt in range(60):
        # I + δT = LDLᵀ with 1/D in inverse and −L below the diagonal in below; z = (I + δT)⁻¹Ty
        inverse[0] = 1 / (1 + delta * T[0])
        y[0] = 1
        for i in range(1, k):
            below[i] = -delta * T[2 * i - 1] * inverse[i - 1]
            inverse[i] = 1 / (1 + delta * (T[2 * i] + below[i] * T[2 * i - 1]))
            y[i] = below[i] * y[i - 1]
        y[k - 1] *= inverse[k - 1]
        for i in range(k - 2, -1, -1):
            y[i] = y[i] * inverse[i] + below[i + 1] * y[i + 1]
        squares = 0
        for i in range(k):
            squares += y[i] * y[i]
            z[i] = T[2 * i] * y[i]
            if i > 0:
                z[i] += T[2 * i - 1] * y[i - 1]
            if i < k - 1:
                z[i] += T[2 * i + 1] * y[i + 1]
        for i in range(1, k):
            z[i] += below[i] * z[i - 1]
        z[k - 1] *= inverse[k - 1]
        for i in range(k - 2, -1, -1):
            z[i] = z[i] * inverse[i] + below[i + 1] * z[i + 1]
        bend = 0
        for i in range(k):
            bend += y[i] * z[i]
        length = norm * sqrt(squares)
        step = (length - 1) * squares / bend
        # At the root, where rounding alone changes δ; y belongs to this δ.
        if not fabs(length - 1) > 2 * ROUNDING or not fabs(step) < last and fabs(length - 1) < 1e-14 or not isfinite(step):
            break
        last = fabs(step)
        if delta + step <= lowest:
            step = lowest - delta
            if step == 0:
                break
        delta += step
    return delta
