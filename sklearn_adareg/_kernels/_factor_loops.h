/* Cholesky factors of matrices that fit into the first caches, where LAPACK spends more on packing than on arithmetic. */
#ifndef ADAREG_FACTOR_LOOPS_H
#define ADAREG_FACTOR_LOOPS_H

#include "_loops.h"

/* A = UᵀU in the upper triangle of the rows of A, with the inverse of U's diagonal in the place of the diagonal; 0, or the number of the
   row, from 1, whose pivot is not positive. Four rows of U at a time are taken from all rows below, so that each of those is loaded and
   stored once for four products. */
ADAREG_CLONES static ptrdiff_t adareg_cholesky(double *A, ptrdiff_t n)
{
    for (ptrdiff_t first = 0; first < n; first += 4) {
        const ptrdiff_t last = first + 4 < n ? first + 4 : n;
        for (ptrdiff_t k = first; k < last; k++) {
            double *ADAREG_RESTRICT row = A + k * n;
            for (ptrdiff_t q = first; q < k; q++) {
                adareg_in above = A + q * n;
                const double factor = above[k];
                for (ptrdiff_t j = k; j < n; j++)
                    row[j] -= factor * above[j];
            }
            if (!(row[k] > 0.0))
                return k + 1;
            const double inverse = 1.0 / sqrt(row[k]);
            row[k] = inverse;
            for (ptrdiff_t j = k + 1; j < n; j++)
                row[j] *= inverse;
        }
        if (last < first + 4)
            return 0;
        adareg_in a = A + first * n, b = a + n, c = b + n, d = c + n;
        for (ptrdiff_t i = last; i < n; i++) {
            double *ADAREG_RESTRICT row = A + i * n;
            const double s = a[i], t = b[i], u = c[i], v = d[i];
            for (ptrdiff_t j = i; j < n; j++)
                row[j] -= (s * a[j] + t * b[j]) + (u * c[j] + v * d[j]);
        }
    }
    return 0;
}

/* x ← (UᵀU)⁻¹ x with such a factor, four rows at a time too: a row by itself would wait for the one before it */
ADAREG_CLONES static void adareg_cholesky_solve(adareg_in U, adareg_out x, ptrdiff_t n)
{
    ptrdiff_t k = 0;
    for (; k + 4 <= n; k += 4) {
        adareg_in a = U + k * n, b = a + n, c = b + n, d = c + n;
        const double s = x[k] * a[k], t = (x[k + 1] - s * a[k + 1]) * b[k + 1];
        const double u = (x[k + 2] - s * a[k + 2] - t * b[k + 2]) * c[k + 2];
        const double v = (x[k + 3] - s * a[k + 3] - t * b[k + 3] - u * c[k + 3]) * d[k + 3];
        x[k] = s;
        x[k + 1] = t;
        x[k + 2] = u;
        x[k + 3] = v;
        for (ptrdiff_t j = k + 4; j < n; j++)
            x[j] -= (s * a[j] + t * b[j]) + (u * c[j] + v * d[j]);
    }
    const ptrdiff_t whole = k;
    for (; k < n; k++) {
        const double value = x[k] = x[k] * U[k * n + k];
        for (ptrdiff_t j = k + 1; j < n; j++)
            x[j] -= value * U[k * n + j];
    }
    for (k = n - 1; k >= whole; k--) {
        double value = x[k];
        for (ptrdiff_t j = k + 1; j < n; j++)
            value -= U[k * n + j] * x[j];
        x[k] = value * U[k * n + k];
    }
    for (k = whole - 4; k >= 0; k -= 4) {
        adareg_in a = U + k * n, b = a + n, c = b + n, d = c + n;
        double as[4] = {0}, bs[4] = {0}, cs[4] = {0}, ds[4] = {0};
        ptrdiff_t j = k + 4;
        for (; j + 4 <= n; j += 4) {
            for (int p = 0; p < 4; p++)
                as[p] += a[j + p] * x[j + p];
            for (int p = 0; p < 4; p++)
                bs[p] += b[j + p] * x[j + p];
            for (int p = 0; p < 4; p++)
                cs[p] += c[j + p] * x[j + p];
            for (int p = 0; p < 4; p++)
                ds[p] += d[j + p] * x[j + p];
        }
        for (; j < n; j++) {
            as[0] += a[j] * x[j];
            bs[0] += b[j] * x[j];
            cs[0] += c[j] * x[j];
            ds[0] += d[j] * x[j];
        }
        const double v = (x[k + 3] - ((ds[0] + ds[2]) + (ds[1] + ds[3]))) * d[k + 3];
        const double u = (x[k + 2] - ((cs[0] + cs[2]) + (cs[1] + cs[3])) - v * c[k + 3]) * c[k + 2];
        const double t = (x[k + 1] - ((bs[0] + bs[2]) + (bs[1] + bs[3])) - v * b[k + 3] - u * b[k + 2]) * b[k + 1];
        x[k] = (x[k] - ((as[0] + as[2]) + (as[1] + as[3])) - v * a[k + 3] - u * a[k + 2] - t * a[k + 1]) * a[k];
        x[k + 1] = t;
        x[k + 2] = u;
        x[k + 3] = v;
    }
}

/* out = A x for a symmetric A with rows of length n */
ADAREG_CLONES static void adareg_symmetric_times(adareg_in A, adareg_in x, adareg_out out, ptrdiff_t n)
{
    ptrdiff_t k = 0;
    for (ptrdiff_t j = 0; j < n; j++)
        out[j] = 0.0;
    for (; k + 4 <= n; k += 4) {
        adareg_in a = A + k * n, b = a + n, c = b + n, d = c + n;
        const double s = x[k], t = x[k + 1], u = x[k + 2], v = x[k + 3];
        for (ptrdiff_t j = 0; j < n; j++)
            out[j] += (s * a[j] + t * b[j]) + (u * c[j] + v * d[j]);
    }
    for (; k < n; k++)
        for (ptrdiff_t j = 0; j < n; j++)
            out[j] += x[k] * A[k * n + j];
}

#endif
