"""The sets X that the coefficients may be confined to, and the exact projections onto them.

A domain answers: is c inside (``contains``; ``gauge`` and ``gauge_exceeds`` are the cheap, additive half of that for callers
who change a few coordinates at a time), what is the nearest point in the norm Σ c_i²/h_i (``project_diagonal``), and in the
norm of H⁻¹ (``project_full``, which also gives w = H⁻¹(u − c), a normal of X at c). A projected point satisfies ``contains``
to the last digit, so that it is not projected again. The simplex always answers no: its points are projected in every round.

``project_full`` ends with a point that ``accepts`` says is finite and inside, or with a status (see ``_domains.pxd``) and c as it
was. Accuracy: c is the exact projection of a u' in the norm of an H'⁻¹, with |u' − u|_i within a small multiple of d·2⁻⁵² of
|u_i| + |c_i| + √H_ii Σ√H_jj|w_j| and |H' − H|_ij of √(H_ii H_jj), whatever the units of the coordinates are. If H is not positive
definite to that accuracy, its diagonal is first multiplied by 1 + ridge, as little as it takes (``Metric``). The residual is
measured: above ``GOOD_RESIDUAL`` of that scale a larger ridge is tried, and the best of the points found is the result.

This module has the interface, and the matrix of a norm. The sets: ``_polyhedra``, ``_l2_ball``.
"""
from libc.math cimport INFINITY, fabs, fmax, fmin, frexp, isfinite, ldexp, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dsymv

from ..linalg._cholesky_loops cimport cholesky, cholesky_solve, symmetric_times
from ..linalg._lapack cimport dpotrf, dpotrs

import numpy as np

cdef double GOOD_RESIDUAL = 1e-11
cdef double ROUNDING = 2.220446049250313e-16
cdef int SMALL = 128                # rows of a matrix for which own loops are faster than LAPACK
cdef double FIRST_RIDGE = 1e-15     # times d
cdef double LARGEST_RIDGE = 1e-3
cdef double SMALLEST_DIAGONAL = 1e-100      # relative to the largest entry; a coordinate with less is on its own


cdef class Metric:
    """The matrix H of a projection in the norm of H⁻¹, as the solvers use it.

    ``load`` copies the caller's H, divides row and column i by the unit of coordinate i, and multiplies by a power of two that
    brings the largest diagonal entry near 1; a projection does not depend on that factor, and nothing under- or overflows.

    Cholesky factors do not depend on the units of the coordinates: their backward error is |E_ij| ≤ c d ε √(H_ii H_jj), whatever
    the spread of the diagonal. H may miss positive definiteness by more than that, as the difference of much larger matrices.
    The diagonal is then multiplied by 1 + ridge, with the smallest ridge of a geometric sequence for which the solver succeeds;
    this changes no entry by more than ridge · √(H_ii H_jj). A matrix that needs more than ``LARGEST_RIDGE`` is refused.
    """

    def __cinit__(self, Py_ssize_t d):
        self.d = d
        self._matrices = np.zeros(2 * d * d)
        self._inverse_units, self._product = np.empty(d), np.empty(d)
        self.H, self.block = &self._matrices[0], &self._matrices[d * d]

    cdef int load(self, const double* H, Py_ssize_t ldh, const double* units) noexcept nogil:
        """Copy H, the leading d × d block of a matrix with rows of length ldh; units may be NULL."""
        cdef Py_ssize_t i, j, d = self.d
        cdef double* inverse = &self._inverse_units[0]
        cdef double* row
        cdef const double* source
        cdef double top = 0, total = 0, size, factor
        cdef int exponent
        self.ridge, self.factorizations = 0, 0
        for i in range(d):
            inverse[i] = 1 / units[i] if units != NULL else 1
            size = H[i * ldh + i] * inverse[i] * inverse[i]
            total += size
            top = size if size > top else top
        if not isfinite(total):
            return NOT_FINITE
        frexp(top, &exponent)
        exponent = -(exponent // 2)
        self.scale = ldexp(1, 2 * exponent)
        for i in range(d):
            inverse[i] = ldexp(inverse[i], exponent)
        for i in range(d):
            row, source, factor = self.H + i * d, H + i * ldh, inverse[i]
            for j in range(d):
                row[j] = source[j] * (factor * inverse[j])
        for i in range(d):
            if not self.H[i * d + i] > SMALLEST_DIAGONAL:
                memset(self.H + i * d, 0, d * sizeof(double))
                for j in range(d):
                    self.H[j * d + i] = 0
                self.H[i * d + i] = SMALLEST_DIAGONAL
        return 0

    cdef bint raise_ridge(self) noexcept nogil:
        """Enlarge the diagonal; whether that is still within what rounding may have done to H."""
        cdef Py_ssize_t i
        cdef double ridge = fmin(fmax(32 * self.ridge, FIRST_RIDGE * self.d), LARGEST_RIDGE)
        if self.ridge == LARGEST_RIDGE:
            return False
        for i in range(self.d):
            self.H[i * self.d + i] *= (1 + ridge) / (1 + self.ridge)
        self.ridge = ridge
        return True

    cdef int factor_shifted(self, double mu) noexcept nogil:
        """Cholesky factor of I + μH."""
        cdef Py_ssize_t i, j, d = self.d
        cdef double* row
        cdef const double* source
        for i in range(d):
            row, source = self.block + i * d, self.H + i * d
            for j in range(i, d):
                row[j] = mu * source[j]
            row[i] += 1
        self.order = <int>d
        return self.factor()

    cdef int factor_block(self, const Py_ssize_t* index, Py_ssize_t n) noexcept nogil:
        """Cholesky factor of the rows and columns of H in index."""
        cdef Py_ssize_t k, l
        cdef const double* source
        cdef double* row
        self.order = <int>n
        if n == 0:
            return 0
        for k in range(n):
            source, row = self.H + index[k] * self.d, self.block + k * n
            for l in range(k, n):
                row[l] = source[index[l]]
        return self.factor()

    cdef int factor(self) noexcept nogil:
        """The Cholesky factor of the upper triangle of the block's rows, LAPACK's lower triangle, in its place."""
        cdef int info = 0
        self.factorizations += 1
        if self.order <= SMALL:
            return <int> cholesky(self.block, self.order)
        dpotrf("L", &self.order, self.block, &self.order, &info)
        return info

    cdef void solve(self, double* right, int columns) noexcept nogil:
        """right ← factored matrix⁻¹ right, its columns packed to the size of the factor."""
        cdef int info = 0, k
        if self.order <= SMALL:
            for k in range(columns):
                cholesky_solve(self.block, right + k * self.order, self.order)
        else:
            dpotrs("L", &self.order, &columns, self.block, &self.order, right, &self.order, &info)

    cdef void times(self, const double* v, double* out) noexcept nogil:
        """out ← H v."""
        cdef int n = <int>self.d, one = 1
        cdef double unit = 1, zero = 0
        if n <= SMALL:
            symmetric_times(self.H, v, out, n)
            return
        dsymv("L", &n, &unit, self.H, &n, <double*>v, &one, &zero, out, &one)

    cdef double residual(self, const double* u, const double* c, const double* w, double sum) noexcept nogil:
        """The largest |u − c − Hw|_i relative to what rounding of u, c, H, and of the sum that c has, does to it.

        That is |u_i| + |c_i| + √H_ii (Σ√H_jj|w_j| + sum ‖w‖_∞ / √(wᵀHw)). NaN if something is not finite.
        """
        cdef Py_ssize_t i, d = self.d
        cdef double* product = &self._product[0]
        cdef double reach = 0, squares = 0, top = 0, worst = 0, part
        self.times(w, product)
        for i in range(d):
            reach += sqrt(self.H[i * d + i]) * fabs(w[i])
            squares += w[i] * product[i]
            top = fmax(top, fabs(w[i]))
        if squares > 0:
            reach += sum * (top / sqrt(squares))
        for i in range(d):
            part = fabs(u[i] - c[i] - product[i])
            if part > 0:
                part /= fabs(u[i]) + fabs(c[i]) + sqrt(self.H[i * d + i]) * reach
            worst = part if not part <= worst else worst
        return worst


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
