"""Potentials: the scalar map ψ = (φ')⁻¹ from eigenvalues of G to eigenvalues of H, a vector at a time.

The built-in maps are η times a power; the factor η is a weight vector's own number and is applied by the structure, so ``steps``
gives ψ/η. A ``Callback`` has its η inside and runs with η = 1.
"""
from libc.math cimport NAN, isfinite, pow

cdef extern from "_power_loops.h" nogil:
    bint c_stay_narrow "adareg_stay_narrow"(bint wish)

    void inverse_root_steps "adareg_inverse_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_steps "adareg_inverse_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_cube_root_steps "adareg_inverse_cube_root_steps"(const double* lam, double* h, Py_ssize_t n)
    void inverse_fourth_root_steps "adareg_inverse_fourth_root_steps"(const double* lam, double* h, Py_ssize_t n)


def stay_narrow(bint wish):
    """Do not use AVX-512 in this module's loops, for tests of those that other machines run; what was wished before."""
    return bool(c_stay_narrow(wish))


cdef class Potential:
    """h = ψ(λ), elementwise; returns 0, or −1 when ψ could not be had."""

    def __cinit__(self):
        self.power = NAN

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        return -1

    def __call__(self, const double[::1] eigenvalues):
        """ψ/η of each."""
        import numpy as np
        answer = np.empty(eigenvalues.shape[0])
        cdef double[::1] view = answer
        if self.steps(&eigenvalues[0], &view[0], eigenvalues.shape[0]) != 0:
            raise self.error
        return answer


cdef class Power(Potential):
    """ψ(λ) = η λ^(−a), with loops of their own for a = 1, 1/2, 1/3 and 1/4."""

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        if self.power == 0.5:
            inverse_root_steps(lam, h, n)
        elif self.power == 1.0:
            inverse_steps(lam, h, n)
        elif self.power == 1.0 / 3.0:
            inverse_cube_root_steps(lam, h, n)
        elif self.power == 0.25:
            inverse_fourth_root_steps(lam, h, n)
        else:
            for i in range(n):
                h[i] = pow(lam[i], -self.power)
        return 0


cdef class AdaGrad(Power):
    """Φ(H) = η² tr H⁻¹, so ψ(λ) = η λ^(−1/2)."""

    def __init__(self):
        self.power = 0.5


cdef class OnlineNewton(Power):
    """Φ(H) = −η log det H, so ψ(λ) = η / λ."""

    def __init__(self):
        self.power = 1.0


cdef class PNorm(Power):
    """Φ(H) = (η^(p+1)/p) tr H^(−p), so ψ(λ) = η λ^(−1/(p+1))."""

    def __init__(self, double p):
        self.power = 1.0 / (p + 1.0)


cdef class HalfPower(Power):
    """λ^(−a/2) of a power λ^(−a), for each factor of a Kronecker product."""

    def __init__(self, Potential whole):
        self.power = 0.5 * whole.power


cdef class Callback(Potential):
    """A user's ψ in Python: called with the GIL on a copy of the eigenvalues; what it returns is checked."""

    cdef object psi

    def __init__(self, psi, bint time_varying=False):
        self.psi = psi
        self.fallible, self.time_varying = True, time_varying
        self.error = None

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        with gil:
            return self.call(lam, h, n)

    def evaluate(self, eigenvalues):
        """ψ in the round under way; before the first it is that of the first."""
        if not self.time_varying:
            return self.psi(eigenvalues)
        return self.psi(eigenvalues, t=max(1, int(self.clock.t)) if self.clock is not None else 1)

    cdef int call(self, const double* lam, double* h, Py_ssize_t n) noexcept:
        import numpy as np
        cdef Py_ssize_t i
        cdef const double[::1] answer
        if n == 0:                                       # a row without any value
            return 0
        try:
            answer = np.ascontiguousarray(self.evaluate(np.array(<const double[:n]> lam)), dtype=np.float64)
            if answer.shape[0] != n:
                raise ValueError(f"the potential's psi returned {answer.shape[0]} values for {n} eigenvalues; "
                                 "return one step for each.")
            for i in range(n):
                if not (isfinite(answer[i]) and answer[i] > 0.0):
                    raise ValueError(f"the potential's psi gave {answer[i]!r} for the eigenvalue {lam[i]!r}; "
                                     "steps must be positive and finite.")
                h[i] = answer[i]
        except BaseException as error:
            self.error = error
            return -1
        return 0
