"""The sets X that the coefficients may be confined to, and the exact projections onto them.

A domain answers: is c inside (``contains``; ``gauge`` and ``gauge_exceeds`` are the cheap, additive half of that for callers
who change a few coordinates at a time), what is the nearest point in the norm Σ c_i²/h_i (``project_diagonal``), and in the
norm of H⁻¹ (``project_full``, which also gives w = H⁻¹(u − c), a normal of X at c). A projected point satisfies ``contains``
to the last digit, so that it is not projected again. The simplex always answers no: its points are projected in every round.

``project_full`` ends with a point that ``accepts`` says is finite and inside, or with a status (see ``_metric.pxd``) and c as it
was. Accuracy: c is the exact projection of a u' in the norm of an H'⁻¹, with |u' − u|_i within a small multiple of d·2⁻⁵² of
|u_i| + |c_i| + √H_ii Σ√H_jj|w_j| and |H' − H|_ij of √(H_ii H_jj), whatever the units of the coordinates are. If H is not positive
definite to that accuracy, its diagonal is first multiplied by 1 + ridge, as little as it takes (``_metric.pyx``). The residual is
measured: above ``GOOD_RESIDUAL`` of that scale a larger ridge is tried, and the best of the points found is the result.

This module has the interface and the sets that are intervals in every coordinate. The others: ``_l2_ball``, ``_simplex``.
"""
from libc.math cimport INFINITY, fabs, fmin, isfinite
from libc.string cimport memcpy, memset

from .projection._active_set cimport ActiveSet
from .projection._metric cimport NOT_DEFINITE, NOT_FINITE, NOT_PREPARED, STALLED, Metric

import numpy as np

cdef double GOOD_RESIDUAL = 1e-11
cdef double ROUNDING = 2.220446049250313e-16


cdef class Domain:
    def __cinit__(self, Py_ssize_t d, double radius=INFINITY):
        if d < 1:
            raise ValueError(f"a domain needs at least one coefficient, got d={d}")
        self.d = d
        self.radius = radius
        self.coordinatewise = False
        self.lower, self.upper = -INFINITY, INFINITY

    def prepare_full(self):
        """Allocate what project_full needs. Call it before the first one."""
        if self.metric is None:
            self.metric = Metric(self.d)
            self._point = np.empty(3 * self.d)

    def project(self, u, h):
        """The projection of u in the norm Σ c_i²/h_i."""
        c = np.array(u, dtype=np.float64)
        cdef double[::1] c_view = c
        cdef const double[::1] h_view = np.ascontiguousarray(h, dtype=np.float64)
        if c_view.shape[0] != self.d or h_view.shape[0] != self.d:
            raise ValueError(f"u and h must have length {self.d}")
        with nogil:
            self.project_diagonal(&c_view[0], &h_view[0])
        return c

    def project_in(self, u, H, units=None, start=None):
        """The projection c of u in the norm of H⁻¹, and w = H⁻¹(u − c); for ``units`` and ``start`` see ``project_full``."""
        c = np.array(u, dtype=np.float64)
        w = np.empty(self.d)
        cdef double[::1] c_view = c
        cdef double[::1] w_view = w
        cdef const double[:, ::1] H_view = np.ascontiguousarray(H, dtype=np.float64)
        cdef const double[::1] units_view, start_view
        cdef const double* units_at = NULL
        cdef const double* start_at = NULL
        cdef int status
        if c_view.shape[0] != self.d or H_view.shape[0] != self.d or H_view.shape[1] < self.d:
            raise ValueError(f"u must have length {self.d} and H as many rows")
        if units is not None:
            units_view = np.array(units, dtype=np.float64).reshape(self.d)
            units_at = &units_view[0]
        if start is not None:
            start_view = np.array(start, dtype=np.float64).reshape(self.d)
            start_at = &start_view[0]
        self.prepare_full()
        with nogil:
            status = self.project_full(&c_view[0], &w_view[0], &H_view[0, 0], H_view.shape[1], units_at, start_at)
        if status != 0:
            raise ArithmeticError(f"projection failed with status {status}")
        return c, w

    def holds(self, c):
        """Whether contains(c)."""
        cdef const double[::1] c_view = np.ascontiguousarray(c, dtype=np.float64)
        return bool(self.contains(&c_view[0]))

    def measure(self, c):
        """(gauge(c), whether gauge_exceeds it)."""
        cdef const double[::1] c_view = np.ascontiguousarray(c, dtype=np.float64)
        cdef double total = self.gauge(&c_view[0], c_view.shape[0], 1)
        return total, bool(self.gauge_exceeds(total))

    def confine(self, c):
        """A copy of c brought into the domain, for a point that should be inside and is not by rounding, or by a change of units.

        Balls and the simplex scale c, intervals clip it. This is not the projection of a step.
        """
        c = np.array(c, dtype=np.float64)
        cdef double[::1] c_view = c
        if not self.accepts(&c_view[0]):
            self.bring_inside(c)
        return c

    def bring_inside(self, c):
        """Change the array c, which is outside, into a point inside."""

    cdef bint contains(self, const double* c) noexcept nogil:
        return True

    cdef bint accepts(self, const double* c) noexcept nogil:
        """Whether c may be published: finite, and inside."""
        cdef Py_ssize_t i
        cdef bint finite = True
        for i in range(self.d):
            finite &= fabs(c[i]) < INFINITY
        return finite and self.contains(c)

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        return 0

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return False

    cdef double shrinkage(self, double gauge) noexcept nogil:
        """What ``confine`` multiplies a point of this gauge with, of a ball."""
        return 1.0

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        pass

    cdef int project_full(self, double* c, double* w, const double* H, Py_ssize_t ldh, const double* units,
                          const double* start) noexcept nogil:
        """Replace c by its projection in the norm of (S⁻¹HS⁻¹)⁻¹, S = diag(units), and set w.

        H is the leading d × d block of a symmetric matrix with rows of length ldh. ``units`` may be NULL, for S = I. ``start`` may
        be NULL, or a point of the domain that is thought to be near: it makes the solver faster and changes nothing else.
        Returns 0, or a status and leaves c as it was.
        """
        cdef Py_ssize_t i, d = self.d
        cdef double* u
        cdef double* kept
        cdef double total = 0, residual, best = INFINITY
        cdef int status
        memset(w, 0, d * sizeof(double))
        for i in range(d):
            total += 0 * c[i]                   # NaN if c_i is not finite
        if not isfinite(total):
            return NOT_FINITE
        if self.contains(c):
            return 0
        if self.metric is None:
            return NOT_PREPARED
        u, kept = &self._point[0], &self._point[d]
        memcpy(u, c, d * sizeof(double))
        status = self.metric.load(H, ldh, units)
        while status == 0:
            status = self.solve_full(c, w, start)
            if status == 0 and not self.accepts(c):
                status = STALLED
            if status == 0:
                # So near to singular that rounding decides, the equations may hold badly: a ridge makes them hold better.
                residual = self.metric.residual(u, c, w, self.sum)
                if residual < best:
                    best = residual
                    for i in range(d):
                        kept[i], kept[d + i] = c[i], w[i] * self.metric.scale
                if residual <= GOOD_RESIDUAL:
                    break
            memcpy(c, u, d * sizeof(double))
            if not self.metric.raise_ridge():
                status = NOT_DEFINITE if status > 0 else status
                break
            status = 0
        if best < INFINITY:
            memcpy(c, kept, d * sizeof(double))
            memcpy(w, kept + d, d * sizeof(double))
            return 0
        memset(w, 0, d * sizeof(double))
        return status if status != 0 else STALLED

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        """The same with the loaded matrix; positive statuses are LAPACK's. c is outside and finite."""
        return STALLED


cdef class NoDomain(Domain):
    pass


cdef class Interval(Domain):
    def prepare_full(self):
        Domain.prepare_full(self)
        if self.solver is None:
            self.solver = ActiveSet(self.metric)
            self._bounds = np.repeat([self.lower, self.upper], self.d)

    def bring_inside(self, c):
        np.clip(c, self.lower, self.upper, out=c)

    cdef bint contains(self, const double* c) noexcept nogil:
        cdef Py_ssize_t i
        cdef bint inside = True
        for i in range(self.d):
            inside &= self.lower <= c[i] <= self.upper
        return inside

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i
        cdef double lower = self.lower, upper = self.upper
        for i in range(self.d):
            # Not fmin and fmax: a NaN must stay one.
            c[i] = lower if c[i] < lower else (upper if c[i] > upper else c[i])

    cdef int solve_full(self, double* c, double* w, const double* start) noexcept nogil:
        return self.solver.within_bounds(c, w, &self._bounds[0], &self._bounds[self.d], start)


cdef class Box(Interval):
    def __init__(self, d, radius):
        self.coordinatewise = True
        self.lower, self.upper = -radius, radius


cdef class Nonnegative(Interval):
    def __init__(self, d, radius=INFINITY):
        self.coordinatewise = True
        self.lower = 0


cdef void shrink_into(Domain domain, double* c, double limit) noexcept nogil:
    """Rounding may leave a projected point just outside: scale it until its gauge is within the limit."""
    cdef Py_ssize_t i
    cdef double total, factor
    cdef int attempt
    for attempt in range(8):
        total = domain.gauge(c, domain.d, 1)
        if not total > limit:
            return
        factor = fmin(limit / total, 1 - (1 << attempt) * ROUNDING)
        for i in range(domain.d):
            c[i] *= factor
