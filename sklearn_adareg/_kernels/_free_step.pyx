# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""Steps projected by H⁻¹ = (G + g gᵀ)/η, where an ``Inverse`` keeps G beside G⁻¹; the result is checked by H."""
from libc.math cimport fabs, fmax, sqrt
from libc.string cimport memcpy

from ._metric cimport STALLED

import numpy as np

cdef double GOOD_RESIDUAL = 1e-11    # as for the projections by H


cdef class FreeStep:
    """For an ``Inverse`` with ``G_at_once``, and a domain."""

    def __init__(self, Domain domain, Inverse inverse):
        domain.prepare_free(inverse.D)
        self.domain, self.inverse, self.free = domain, inverse, domain.free_set
        if self.free is not None:
            self.x, self.a, self.f = self.free.x, self.free.a, self.free.f
        self.back, self.roots = np.empty(inverse.D), np.empty(inverse.D)

    cdef int project(self, Py_ssize_t lane, double weight, double factor, const double* g, const double* units,
                     double* goal) noexcept nogil:
        """The x of the domain that minimises ½(x − a)ᵀH⁻¹(x − a) − f·(x − a), raw, instead of the goal, the same without a domain.

        H = factor · (G + g gᵀ)⁻¹ in the units of the coefficients, which may be NULL, for 1; ``weight`` as in ``Inverse.commit``, 0:
        without g. Returns 0, or a status, and the goal as it was.
        """
        if not self.domain.few_are_free():
            return STALLED
        self.free.begin(&self.inverse.G[lane, 0, 0], g if weight != 0.0 else NULL, 1.0 / factor, units)
        self.free.know(&self.inverse.P[lane, 0, 0], self.inverse.next_v(lane), weight, goal)
        self.free.load()
        if self.domain.project_free() != 0 or not self.domain.accepts(self.free.x):
            return STALLED
        if not self.residual(lane, weight) <= GOOD_RESIDUAL:
            return STALLED
        memcpy(goal, self.free.x, self.inverse.D * sizeof(double))
        return 0

    cdef double residual(self, Py_ssize_t lane, double weight) noexcept nogil:
        """The largest |u − x − Hw|_i relative to what rounding does to it, as in ``Metric``."""
        cdef Py_ssize_t i
        cdef Py_ssize_t D = self.inverse.D
        cdef const double* w = self.free.w
        cdef const double* x = self.free.x
        cdef const double* u = self.free.u
        cdef const double* v = self.free.v
        cdef double* root = &self.roots[0]
        cdef double reach = 0.0, squares = 0.0, top = 0.0, worst = 0.0, size, part
        self.free.times_H(w, D, &self.back[0])
        for i in range(D):
            size = self.inverse.P[lane, i, i] - (weight * v[i] * v[i] if weight != 0.0 else 0.0)
            root[i] = self.free.over_unit[i] * sqrt(size) + sqrt(self.free.alone[i])
            reach += root[i] * fabs(w[i])
            squares += w[i] * self.back[i]
            top = fmax(top, fabs(w[i]))
        if squares > 0.0:
            reach += self.domain.sum * (top / sqrt(squares))
        for i in range(D):
            part = fabs(u[i] - x[i] - self.back[i])
            if part > 0.0:
                part /= fabs(u[i]) + fabs(x[i]) + root[i] * reach
            worst = part if not part <= worst else worst
        return worst


cdef FreeStep free_step(Domain domain, Inverse inverse):
    """None where a domain has no such projection, or G is not at hand."""
    cdef FreeStep step = FreeStep(domain, inverse) if inverse.G_at_once else None
    return step if step is not None and step.free is not None else None
