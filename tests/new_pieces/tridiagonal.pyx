"""A structure: P_S keeps the diagonal of G and its two neighbours. O(D³) a round."""
from sklearn_adareg._kernels.domains._domains cimport Domain
from sklearn_adareg._kernels.potentials._potentials cimport Potential
from sklearn_adareg._kernels.state._setting cimport Setting
from sklearn_adareg._kernels.preconditioners.full._full cimport FullSpectral

import numpy as np


cdef class Tridiagonal(FullSpectral):
    """The spectral structure on a part of G. That part need not be positive definite: eigenvalues are floored at ε."""

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        super().__init__(setting, potential, domain, arrays)
        self.basis.delta = 0.0                   # an older decomposition is certified for the whole G only

    def accumulated(self):
        return np.tril(np.triu(super().accumulated(), -1), 1)

    cdef void restrict(self, double* G) noexcept nogil:
        cdef Py_ssize_t i, j
        for i in range(self.setting.D):
            for j in range(i - 1):
                G[i * self.setting.D + j] = 0.0
