"""The l1 ball and the simplex.

In the norm Σ c_i²/h_i the projection is c = (u − μh)₊ (with |u| and the signs of u for l1), by Newton's method on the convex
Σ(u_i − μh_i)₊ = r, and after a few steps by taking breakpoints u_i/h_i off a heap: O(d log d) at worst. In the norm of H⁻¹: see
``_active_set``.
"""
from libc.math cimport INFINITY, NAN, fabs, fmax, fmin, isfinite
from libc.string cimport memcpy

from ._domains cimport Domain, shrink_into
from .projection._active_set cimport SumConstrained

import numpy as np

cdef enum:
    FILTER_STEPS = 12

cdef double GAUGE_MARGIN = 1 - 1e-9     # how far below its limit a gauge kept by additions may have drifted
cdef double VERTEX_TOLERANCE = 1e-9     # relative error of the sum beyond which rounding has taken the projection's digits
cdef double SUM_TOLERANCE = 1e-12       # relative error of the sum of a point of the simplex


cdef void sift_down(Py_ssize_t* heap, const double* key, Py_ssize_t n,
                    Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t child, moved = heap[at]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if not key[heap[child]] > key[moved]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef void threshold(double* v, const double* h, Py_ssize_t d, double radius,
                    Py_ssize_t* order, double* key) noexcept nogil:
    """v ← (v − μh)₊ with μ such that the sum is the radius."""
    cdef Py_ssize_t i, k, n, kept
    cdef double mu = -INFINITY, total, weight, excess
    cdef int _attempt
    for i in range(d):
        order[i] = i
    n = d
    for _attempt in range(FILTER_STEPS):
        total, weight = -radius, 0
        for k in range(n):
            total += v[order[k]]
            weight += h[order[k]]
        mu = total / weight
        kept = 0
        for k in range(n):
            i = order[k]
            order[kept] = i
            kept += v[i] > mu * h[i]
        # The μ of all that are left is a lower bound, so what falls below it is 0 for good.
        if kept == n or kept == 0:
            break
        n = kept
    else:
        for k in range(n):
            key[order[k]] = v[order[k]] / h[order[k]]
        for k in range(n // 2 - 1, -1, -1):
            sift_down(order, key, n, k)
        total, weight = -radius, 0
        while n > 0 and (weight == 0 or key[order[0]] > mu):
            i = order[0]
            total += v[i]
            weight += h[i]
            mu = total / weight
            n -= 1
            order[0] = order[n]
            sift_down(order, key, n, 0)
    memcpy(key, v, d * sizeof(double))
    excess, weight = -radius, 0
    for i in range(d):
        # What is not finite must show: as a 0 it would pass for a solution.
        v[i] = v[i] - mu * h[i] if v[i] > mu * h[i] else (0 if isfinite(mu) else NAN)
        if v[i] > 0:
            excess += v[i]
            weight += h[i]
    # u far outside leaves few digits in u − μh: give the sum its last ones back.
    if weight > 0:
        for i in range(d):
            if v[i] > 0:
                v[i] = fmax(v[i] - excess * (h[i] / weight), 0)
    total = 0
    for i in range(d):
        total += v[i]
    # So far outside that rounding exceeds the radius, the nearest point is the vertex whose breakpoint is the last.
    if isfinite(mu) and not fabs(total - radius) <= VERTEX_TOLERANCE * radius:
        n = 0
        for i in range(d):
            v[i] = 0
            if key[i] / h[i] > key[n] / h[n]:
                n = i
        v[n] = radius


cdef class SumDomain(Domain):
    """What the l1 ball and the simplex share."""

    def prepare_full(self):
        Domain.prepare_full(self)
        if self.solver is None:
            self.solver = SumConstrained(self.metric)
            self._start = np.empty(2 * self.d)
            self.sum = self.radius

    def bring_inside(self, c):
        if self.two_signs:
            largest = max(np.abs(c).max(), self.radius)
            c /= largest
            c *= self.radius / max(np.abs(c).sum(), self.radius / largest)
        else:
            np.maximum(c, 0.0, out=c)
            total = (c / self.radius).sum()
            c[:] = c / total if total > 0 else self.radius / self.d
        cdef double[::1] c_view = c
        if self.two_signs:
            shrink_into(self, &c_view[0], self.radius)

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        """The first guess of the signs of c: those of the start, or of the projection with the diagonal of H."""
        cdef Py_ssize_t i, d = self.d
        cdef double* guess = &self._start[0]
        cdef double size = 0
        cdef int status
        if start != NULL:
            memcpy(guess, start, d * sizeof(double))
            for i in range(d):
                size += fabs(start[i])
        if not fabs(size - self.radius) <= 1e-6 * self.radius:
            for i in range(d):
                guess[d + i] = self.metric.H[i * d + i]
            memcpy(guess, c, d * sizeof(double))
            self.project_diagonal(guess, guess + d)
        status = (<SumConstrained> self.solver).with_sum(c, w, guess, self.radius, self.two_signs)
        if status == 0 and self.two_signs:
            shrink_into(self, c, self.radius)
        return status


cdef class L1Ball(SumDomain):
    def __init__(self, d, radius):
        self.two_signs = True
        self._vectors = np.empty(2 * self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    cdef bint contains(self, const double* c) noexcept nogil:
        return self.gauge(c, self.d, 1) <= self.radius

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(n):
            total += fabs(c[i * stride])
        return total

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return gauge > GAUGE_MARGIN * self.radius

    cdef double shrinkage(self, double gauge) noexcept nogil:
        return fmin(self.radius / gauge, 1.0)

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* size = &self._vectors[0]
        if self.contains(c):
            return
        for i in range(d):
            size[i] = fabs(c[i])
        threshold(size, h, d, self.radius, &self._order[0], size + d)
        for i in range(d):
            c[i] = size[i] if c[i] > 0 else 0 - size[i]      # 0 − 0 is 0, −0 is not
        shrink_into(self, c, self.radius)


cdef class Simplex(SumDomain):
    def __init__(self, d, radius):
        self._vectors = np.empty(self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    cdef bint contains(self, const double* c) noexcept nogil:
        return False

    cdef bint accepts(self, const double* c) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        cdef bint positive = True
        for i in range(self.d):
            positive &= c[i] >= 0
            total += c[i]
        return positive and fabs(total - self.radius) <= SUM_TOLERANCE * self.radius

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return True

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        threshold(c, h, self.d, self.radius, &self._order[0], &self._vectors[0])
