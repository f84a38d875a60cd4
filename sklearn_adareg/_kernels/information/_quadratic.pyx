"""The minimiser of ½ xᵀAx − bᵀx + Σ p_i |x_i| over a domain, in coordinates in which A has a diagonal of 1.

Without penalty and domain it is a Cholesky factor and two triangular solutions. An L1 penalty and domains of intervals are descended
by coordinates: a coordinate's own minimiser is a soft threshold and a clip. Balls are projected onto in the norm of A: the minimiser
over the domain is the projection of the one without it.
"""
from libc.math cimport fabs, fmax, isfinite, sqrt
from libc.string cimport memcpy, memset

from ..domains._domains cimport Domain, NoDomain
from ..linalg._cholesky_loops cimport cholesky, cholesky_solve
from ..linalg._lapack cimport dpotrf, dpotrs
from ..linalg._loops cimport axpy, dot

import numpy as np

cdef enum:
    OWN_LOOPS = 96               # rows up to which the package's own factorisation is the faster one
    SWEEPS = 2000
cdef double LEAST_RIDGE = 1e-13  # of a diagonal of 1, where a factorisation fails without
cdef double MOST_RIDGE = 1e-3
cdef double SETTLED = 1e-22      # of the largest part of a coordinate: a smaller decrease ends the descent


cdef class Quadratic:
    """Room for systems of up to so many coordinates; the caller fills ``A``, ``b``, ``x`` and ``l1``."""

    def __init__(self, Py_ssize_t room, Domain domain, bint penalised):
        cdef double[::1] numbers
        cdef unsigned char[::1] free
        self.room, self.domain = room, domain
        self.descends = penalised or domain.coordinatewise and not isinstance(domain, NoDomain)
        self.projects = not self.descends and not isinstance(domain, NoDomain)
        numbers = np.zeros((2 + self.projects) * room * room + 8 * room)
        free = np.zeros(room, dtype=np.uint8)
        self.owners = (numbers, free)
        self.A, self.F = &numbers[0], &numbers[room * room]
        self.b = &numbers[(2 + self.projects) * room * room]
        self.x, self.l1, self.scale, self.slope = self.b + room, self.b + 2 * room, self.b + 3 * room, self.b + 4 * room
        self.free = &free[0]
        if self.projects:
            domain.prepare_full()

    cdef bint factor(self, Py_ssize_t n) noexcept nogil:
        """A factor of the scaled matrix, with as small a ridge as it takes; whether there is one."""
        cdef Py_ssize_t i, j
        cdef double ridge = 0.0
        cdef int info, order = <int> n
        for i in range(n):
            self.scale[i] = 1.0 / sqrt(self.A[i * n + i]) if self.A[i * n + i] > 0.0 else 0.0
            if not isfinite(self.scale[i]):
                return False
        while ridge <= MOST_RIDGE:
            for i in range(n):
                for j in range(i, n):
                    self.F[i * n + j] = self.A[i * n + j] * (self.scale[i] * self.scale[j])
                self.F[i * n + i] = 1.0 + ridge
            if n <= OWN_LOOPS:
                if cholesky(self.F, n) == 0:
                    return True
            else:                # rows of the upper triangle are columns of LAPACK's lower one
                dpotrf("L", &order, self.F, &order, &info)
                if info == 0:
                    return True
            ridge = fmax(10.0 * ridge, LEAST_RIDGE)
        return False

    cdef void solve(self, double* x, Py_ssize_t n) noexcept nogil:
        """x ← A⁻¹ x by the factor; the coordinates that A does not have become 0."""
        cdef Py_ssize_t i
        cdef int info, one = 1, order = <int> n
        for i in range(n):
            x[i] *= self.scale[i]
        if n <= OWN_LOOPS:
            cholesky_solve(self.F, x, n)
        else:
            dpotrs("L", &order, &one, self.F, &order, x, &order, &info)
        for i in range(n):
            x[i] *= self.scale[i]

    cdef double value(self, Py_ssize_t n) noexcept nogil:
        """The objective at x."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(n):
            total += self.x[i] * (0.5 * dot(&self.A[i * n], self.x, n) - self.b[i]) + self.l1[i] * fabs(self.x[i])
        return total

    cdef int minimise(self, Py_ssize_t n) noexcept nogil:
        """0, or another number if there is no finite minimiser."""
        cdef Py_ssize_t i
        if self.descends:
            self.descend(n)
        else:
            if not self.factor(n):
                return 1
            memcpy(self.x, self.b, n * sizeof(double))
            self.solve(self.x, n)
            if self.projects and n > 0:
                return self.project(n)
        for i in range(n):
            if not isfinite(self.x[i]):
                return 1
        return 0

    cdef void descend(self, Py_ssize_t n) noexcept nogil:
        """Sweeps over all coordinates, and over those that are not 0, until one over all moves nothing."""
        cdef Py_ssize_t i, _sweep
        cdef double a, goal, gap, step, size, moved
        cdef bint everywhere = True
        for i in range(n):
            self.slope[i] = self.b[i] - dot(&self.A[i * n], self.x, n)
        for _sweep in range(SWEEPS):
            size = moved = 0.0
            for i in range(n):
                a = self.A[i * n + i]
                if not a > 0.0 or not (everywhere or self.x[i] != 0.0):
                    continue
                goal, gap = self.x[i] + self.slope[i] / a, self.l1[i] / a
                goal = goal - gap if goal > gap else (goal + gap if goal < -gap else 0.0)
                if not self.free[i]:
                    goal = self.domain.lower if goal < self.domain.lower else (
                        self.domain.upper if goal > self.domain.upper else goal)
                step = goal - self.x[i]
                size = fmax(size, a * goal * goal)
                if step != 0.0:
                    moved = fmax(moved, a * step * step)
                    self.x[i] = goal
                    axpy(-step, &self.A[i * n], self.slope, n)
            if moved > SETTLED * size:
                everywhere = False
            elif everywhere:
                break
            else:
                everywhere = True

    cdef int project(self, Py_ssize_t n) noexcept nogil:
        """x onto the domain in the norm of A; the coordinates that are free, which come last, follow: x_b + H_bc w."""
        cdef Py_ssize_t i, j, d
        cdef double* H = self.F + self.room * self.room
        cdef double* w = self.slope
        cdef int status
        d = self.domain.d
        if self.domain.accepts(self.x):
            return 0
        for i in range(n):
            memset(&H[i * n], 0, n * sizeof(double))
            H[i * n + i] = 1.0
            self.solve(&H[i * n], n)
        status = self.domain.project_full(self.x, w, H, n, NULL, NULL)
        if status != 0:
            return status
        for i in range(d, n):
            for j in range(d):
                self.x[i] -= H[i * n + j] * w[j]
        for i in range(n):
            if not isfinite(self.x[i]):
                return 1
        return 0
