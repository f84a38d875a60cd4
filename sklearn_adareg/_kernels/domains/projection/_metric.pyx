"""The matrix H of a projection in the norm of H⁻¹, as the solvers use it.

``load`` copies the caller's H, divides row and column i by the unit of coordinate i, and multiplies by a power of two that
brings the largest diagonal entry near 1; a projection does not depend on that factor, and nothing under- or overflows.

Cholesky factors do not depend on the units of the coordinates: their backward error is |E_ij| ≤ c d ε √(H_ii H_jj), whatever
the spread of the diagonal. H may miss positive definiteness by more than that, as the difference of much larger matrices.
The diagonal is then multiplied by 1 + ridge, with the smallest ridge of a geometric sequence for which the solver succeeds;
this changes no entry by more than ridge · √(H_ii H_jj). A matrix that needs more than ``LARGEST_RIDGE`` is refused.
"""
from libc.math cimport fabs, fmax, fmin, frexp, isfinite, ldexp, sqrt
from libc.string cimport memset

from scipy.linalg.cython_blas cimport dsymv

from ...linalg._cholesky_loops cimport cholesky, cholesky_solve, symmetric_times
from ...linalg._lapack cimport dpotrf, dpotrs

import numpy as np

cdef int SMALL = 128                # rows of a matrix for which own loops are faster than LAPACK
cdef double FIRST_RIDGE = 1e-15     # times d
cdef double LARGEST_RIDGE = 1e-3
cdef double SMALLEST_DIAGONAL = 1e-100      # relative to the largest entry; a coordinate with less is on its own


cdef class Metric:
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
