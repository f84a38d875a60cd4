# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# The sets X that the coefficients may be confined to, and the exact projections onto them.
#
# A domain answers: is c inside (contains; gauge and gauge_exceeds are the cheap, additive half of
# that for callers who change a few coordinates at a time), what is the nearest point in the norm
# Σ c_i²/h_i (project_diagonal), and in the norm of H⁻¹ (project_full, which also gives
# w = H⁻¹(u − c), the normal of X that the step was pushed back along). A projected point satisfies
# contains() to the last digit, so that it is not projected again. The simplex always says no.
#
# l2: c = u/(1 + μh), or (I + μH)c = u, with μ from Newton's method on 1/‖c(μ)‖ = 1/r. That function
# is concave and increasing, so the iterates rise monotonely from μ = 0. A Cholesky factor a step
# costs less than one eigendecomposition and keeps every digit when H is badly scaled.
# l1, simplex: c = (u − μh)₊, by Newton's method on the convex Σ(u_i − μh_i)₊ = r, and after a few
# steps by popping breakpoints u_i/h_i off a heap: O(d log d) at worst.
# The polyhedra in the norm of H⁻¹: see _quadratic.pyx and _sum_set.pyx.
import numpy as np

from libc.math cimport INFINITY, NAN, fabs, fmax, isfinite, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport ddot, dsymv
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

from sklearn_adareg._kernels._quadratic cimport ActiveSet
from sklearn_adareg._kernels._sum_set cimport SumSet

cdef enum:
    NOT_PREPARED = -1
    STALLED = -2
    NOT_FINITE = -3
    NEWTON_STEPS = 200
    FILTER_STEPS = 12

# How far below its limit a gauge kept by additions may have drifted.
cdef double GAUGE_MARGIN = 1 - 1e-9
cdef double ROUNDING = 2.220446049250313e-16


cdef class Domain:
    def __cinit__(self, Py_ssize_t d, double radius=INFINITY):
        if d < 1:
            raise ValueError(f"a domain needs at least one coefficient, got d={d}")
        self.d = d
        self.radius = radius
        self.coordinatewise = False
        self.lower, self.upper = -INFINITY, INFINITY
        self._full = None

    def prepare_full(self):
        """Allocate what project_full needs. Call it before the first one."""

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

    def project_in(self, u, H):
        """The projection c of u in the norm of H⁻¹, and w = H⁻¹(u − c)."""
        c = np.array(u, dtype=np.float64)
        w = np.empty(self.d)
        cdef double[::1] c_view = c
        cdef double[::1] w_view = w
        cdef const double[:, ::1] H_view = np.ascontiguousarray(H, dtype=np.float64)
        cdef int status
        if c_view.shape[0] != self.d or H_view.shape[0] != self.d or H_view.shape[1] < self.d:
            raise ValueError(f"u must have length {self.d} and H as many rows")
        self.prepare_full()
        with nogil:
            status = self.project_full(&c_view[0], &w_view[0], &H_view[0, 0], H_view.shape[1])
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

    cdef bint contains(self, const double* c) noexcept nogil:
        return True

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        return 0

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return False

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        pass

    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil:
        memset(w, 0, self.d * sizeof(double))
        return 0


cdef class NoDomain(Domain):
    pass


# ---- coordinate by coordinate

cdef class Interval(Domain):
    def prepare_full(self):
        if self.solver is None:
            self.solver = ActiveSet(self.d)

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

    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil:
        if self.solver is None:
            return NOT_PREPARED
        return self.solver.within_bounds(c, w, H, ldh, self.lower, self.upper)


cdef class Box(Interval):
    def __init__(self, d, radius):
        self.coordinatewise = True
        self.lower, self.upper = -radius, radius


cdef class Nonnegative(Interval):
    def __init__(self, d, radius=INFINITY):
        self.coordinatewise = True
        self.lower = 0


# ---- the Euclidean ball

cdef void shrink_into(Domain domain, double* c, double limit) noexcept nogil:
    """Rounding may leave a projected point just outside: scale it until contains() agrees."""
    cdef Py_ssize_t i
    cdef double total, factor
    cdef int attempt
    for attempt in range(8):
        total = domain.gauge(c, domain.d, 1)
        if not total > limit:
            return
        factor = 1 - fmax(total / limit - 1, (1 << attempt) * ROUNDING)
        for i in range(domain.d):
            c[i] *= factor


cdef class L2Ball(Domain):
    def __init__(self, d, radius):
        self._vectors = np.empty(3 * self.d)

    def prepare_full(self):
        if self._full is None:
            self._full = np.empty(self.d * self.d)

    cdef bint contains(self, const double* c) noexcept nogil:
        return self.gauge(c, self.d, 1) <= self.radius * self.radius

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0
        for i in range(n):
            total += c[i * stride] * c[i * stride]
        return total

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return gauge > GAUGE_MARGIN * self.radius * self.radius

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* u = &self._vectors[0]
        cdef double mu = 0, squares, bend, norm, shrunk, step
        cdef int _attempt
        if self.contains(c):
            return
        memcpy(u, c, d * sizeof(double))
        for i in range(d):
            # |c_i| ≤ r by itself already: a lower bound of μ that copes with any spread of h.
            mu = fmax(mu, (fabs(u[i]) / self.radius - 1) / h[i])
        for _attempt in range(NEWTON_STEPS):
            squares = bend = 0
            for i in range(d):
                shrunk = u[i] / (1 + mu * h[i])
                squares += shrunk * shrunk
                bend += shrunk * shrunk * h[i] / (1 + mu * h[i])
            norm = sqrt(squares)
            step = (norm / self.radius - 1) * squares / bend
            mu += step
            if not step > 4 * ROUNDING * mu:
                break
        for i in range(d):
            c[i] = u[i] / (1 + mu * h[i])
        shrink_into(self, c, self.radius * self.radius)

    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil:
        cdef Py_ssize_t i, j, d = self.d
        cdef double* u = &self._vectors[0]
        cdef double* turned = u + d      # H c
        cdef double* rate = turned + d   # −dc/dμ = (I + μH)⁻¹ H c
        cdef double* factor
        cdef double mu = 0, norm, step, bend, zero = 0, unit = 1
        cdef int n = <int>d, lead = <int>ldh, one = 1, info = 0, attempt
        cdef char upper = b"U"
        if self._full is None:
            return NOT_PREPARED
        factor = &self._full[0]
        memset(w, 0, d * sizeof(double))
        if self.contains(c):
            return 0
        memcpy(u, c, d * sizeof(double))
        for attempt in range(NEWTON_STEPS):
            norm = sqrt(ddot(&n, c, &one, c, &one))
            dsymv(&upper, &n, &unit, <double*>H, &lead, c, &one, &zero, turned, &one)
            memcpy(rate, turned, d * sizeof(double))
            if mu > 0:
                dpotrs(&upper, &n, &one, factor, &n, rate, &n, &info)
            bend = ddot(&n, c, &one, rate, &one)
            step = (norm / self.radius - 1) * norm * norm / bend
            if not isfinite(step) or mu + step <= 0:
                info = NOT_FINITE if not isfinite(step) else STALLED
                break
            mu += step
            if fabs(step) <= 1e-8 * mu and attempt > 0:
                # The next error is the square of this step: no further factor is needed.
                for i in range(d):
                    c[i] -= step * rate[i]
                shrink_into(self, c, self.radius * self.radius)
                for i in range(d):
                    w[i] = mu * c[i]
                return 0
            for i in range(d):
                for j in range(i + 1):
                    factor[i * d + j] = mu * H[i * ldh + j]
                factor[i * d + i] += 1
            dpotrf(&upper, &n, factor, &n, &info)
            if info != 0:
                break
            memcpy(c, u, d * sizeof(double))
            dpotrs(&upper, &n, &one, factor, &n, c, &n, &info)
        memcpy(c, u, d * sizeof(double))
        return info if info != 0 else STALLED


# ---- sums

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


cdef class L1Ball(Domain):
    def __init__(self, d, radius):
        self._vectors = np.empty(2 * self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    def prepare_full(self):
        if self.solver is None:
            self.solver = SumSet(self.d)
            self._full = np.empty(2 * self.d)

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

    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* start
        cdef int status
        if self.solver is None:
            return NOT_PREPARED
        if self.contains(c):
            memset(w, 0, d * sizeof(double))
            return 0
        start = &self._full[0]
        for i in range(d):
            start[d + i] = H[i * ldh + i]
        memcpy(start, c, d * sizeof(double))
        self.project_diagonal(start, start + d)
        status = (<SumSet> self.solver).with_sum(c, w, H, ldh, start, self.radius, True)
        if status == 0:
            shrink_into(self, c, self.radius)
        return status


cdef class Simplex(Domain):
    def __init__(self, d, radius):
        self._vectors = np.empty(self.d)
        self._order = np.empty(self.d, dtype=np.intp)

    def prepare_full(self):
        if self.solver is None:
            self.solver = SumSet(self.d)
            self._full = np.empty(2 * self.d)

    cdef bint contains(self, const double* c) noexcept nogil:
        return False

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return True

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        threshold(c, h, self.d, self.radius, &self._order[0], &self._vectors[0])

    cdef int project_full(self, double* c, double* w, const double* H,
                          Py_ssize_t ldh) noexcept nogil:
        cdef Py_ssize_t i, d = self.d
        cdef double* start
        if self.solver is None:
            return NOT_PREPARED
        start = &self._full[0]
        for i in range(d):
            start[d + i] = H[i * ldh + i]
        memcpy(start, c, d * sizeof(double))
        self.project_diagonal(start, start + d)
        return (<SumSet> self.solver).with_sum(c, w, H, ldh, start, self.radius, False)
