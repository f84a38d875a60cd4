# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Potentials: the scalar map ψ = (φ')⁻¹ from eigenvalues of G to eigenvalues of H, a vector at a time.

The built-in maps are η times a power; the factor η is a lane's own number and is applied by the structure, so ``steps`` gives
ψ/η. A ``Callback`` has its η inside and runs with η = 1.
"""
from libc.math cimport isfinite, pow

from ._potential_loops cimport (
    inverse_cube_root_descend,
    inverse_cube_root_records,
    inverse_cube_root_steps,
    inverse_descend,
    inverse_fourth_root_descend,
    inverse_fourth_root_records,
    inverse_fourth_root_steps,
    inverse_records,
    inverse_root_descend,
    inverse_root_records,
    inverse_root_steps,
    inverse_steps,
)
from ._potential_loops cimport stay_narrow as c_stay_narrow


def stay_narrow(bint wish):
    """Keep from AVX-512, for tests of the loops that other machines run; what was wished before."""
    return bool(c_stay_narrow(wish))


cdef class Potential:
    """h = ψ(λ), elementwise; returns 0, or −1 when ψ could not be had."""

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        return -1

    def __call__(self, const double[::1] eigenvalues):
        """ψ/η of each, for tests."""
        import numpy as np
        answer = np.empty(eigenvalues.shape[0])
        cdef double[::1] view = answer
        self.steps(&eigenvalues[0], &view[0], eigenvalues.shape[0])
        return answer


cdef class AdaGrad(Potential):
    """Φ(H) = η² tr H⁻¹, so ψ(λ) = η λ^(−1/2)."""

    def __init__(self):
        self.descend, self.records = inverse_root_descend, inverse_root_records

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        inverse_root_steps(lam, h, n)
        return 0


cdef class OnlineNewton(Potential):
    """Φ(H) = −η log det H, so ψ(λ) = η / λ."""

    def __init__(self):
        self.descend, self.records = inverse_descend, inverse_records

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        inverse_steps(lam, h, n)
        return 0


cdef class PNorm(Potential):
    """Φ(H) = (η^(p+1)/p) tr H^(−p), so ψ(λ) = η λ^(−1/(p+1))."""

    def __init__(self, double p):
        self.p = p
        if p == 1.0:
            self.descend, self.records = inverse_root_descend, inverse_root_records
        elif p == 2.0:
            self.descend, self.records = inverse_cube_root_descend, inverse_cube_root_records
        elif p == 3.0:
            self.descend, self.records = inverse_fourth_root_descend, inverse_fourth_root_records

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        cdef double power = -1.0 / (self.p + 1.0)
        if self.p == 1.0:
            inverse_root_steps(lam, h, n)
        elif self.p == 2.0:
            inverse_cube_root_steps(lam, h, n)
        elif self.p == 3.0:
            inverse_fourth_root_steps(lam, h, n)
        else:
            for i in range(n):
                h[i] = pow(lam[i], power)
        return 0


cdef class Callback(Potential):
    """A user's ψ in Python: called with the GIL on a copy of the eigenvalues; what it returns is checked."""

    def __init__(self, psi):
        self.psi = psi
        self.fallible = True
        self.error = None

    cdef int steps(self, const double* lam, double* h, Py_ssize_t n) noexcept nogil:
        with gil:
            return self.call(lam, h, n)

    cdef int call(self, const double* lam, double* h, Py_ssize_t n) noexcept:
        import numpy as np
        cdef Py_ssize_t i
        cdef const double[::1] answer
        if n == 0:                                       # a row without any value
            return 0
        try:
            answer = np.ascontiguousarray(self.psi(np.array(<const double[:n]> lam)), dtype=np.float64)
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
