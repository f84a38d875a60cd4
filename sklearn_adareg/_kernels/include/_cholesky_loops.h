/* Cholesky factors of matrices that fit into the first caches, where LAPACK spends more on packing than on arithmetic.

   A = UᵀU, in the upper triangle of the rows of A, with the inverse of U's diagonal in the place of the diagonal. Four rows at a time;
   the first n % 4 rows are on their own, so that the columns of all others come in fours too. */
#ifndef ADAREG_FACTOR_LOOPS_H
#define ADAREG_FACTOR_LOOPS_H

#include "_loops.h"

#if defined(__GNUC__)
typedef double adareg_four __attribute__((vector_size(32), aligned(8), may_alias));
#define ADAREG_FOUR(address) (*(adareg_four *)(address))

ADAREG_INLINE double adareg_sum_of_four(adareg_four a)
{
    return (a[0] + a[2]) + (a[1] + a[3]);
}

/* Rows k to k + 3 of U in `tiles` times four columns from j on: what the rows above leave of A, which stays in registers, over the tile
   on the diagonal. */
ADAREG_INLINE void adareg_cholesky_tile(double *A, ptrdiff_t n, ptrdiff_t k, ptrdiff_t j, const int tiles)
{
    double *a = A + k * n, *b = a + n, *c = b + n, *d = c + n;
    adareg_four s[2], t[2], u[2], v[2];
    for (int q = 0; q < tiles; q++) {
        s[q] = ADAREG_FOUR(a + j + 4 * q);
        t[q] = ADAREG_FOUR(b + j + 4 * q);
        u[q] = ADAREG_FOUR(c + j + 4 * q);
        v[q] = ADAREG_FOUR(d + j + 4 * q);
    }
    for (ptrdiff_t p = 0; p < k; p++) {
        double *above = A + p * n;
        for (int q = 0; q < tiles; q++) {
            const adareg_four of = ADAREG_FOUR(above + j + 4 * q);
            s[q] -= above[k] * of;
            t[q] -= above[k + 1] * of;
            u[q] -= above[k + 2] * of;
            v[q] -= above[k + 3] * of;
        }
    }
    for (int q = 0; q < tiles; q++) {
        s[q] *= a[k];
        t[q] = (t[q] - a[k + 1] * s[q]) * b[k + 1];
        u[q] = (u[q] - a[k + 2] * s[q] - b[k + 2] * t[q]) * c[k + 2];
        v[q] = (v[q] - a[k + 3] * s[q] - b[k + 3] * t[q] - c[k + 3] * u[q]) * d[k + 3];
        ADAREG_FOUR(a + j + 4 * q) = s[q];
        ADAREG_FOUR(b + j + 4 * q) = t[q];
        ADAREG_FOUR(c + j + 4 * q) = u[q];
        ADAREG_FOUR(d + j + 4 * q) = v[q];
    }
}

/* The tile on the diagonal: 0, or the number of the row, from 1, whose pivot is not positive. */
ADAREG_INLINE ptrdiff_t adareg_cholesky_corner(double *A, ptrdiff_t n, ptrdiff_t k)
{
    double *a = A + k * n + k, *b = a + n, *c = b + n, *d = c + n;
    adareg_four s = ADAREG_FOUR(a), t = ADAREG_FOUR(b), u = ADAREG_FOUR(c), v = ADAREG_FOUR(d);
    for (ptrdiff_t p = 0; p < k; p++) {
        double *above = A + p * n + k;
        const adareg_four of = ADAREG_FOUR(above);
        s -= above[0] * of;
        t -= above[1] * of;
        u -= above[2] * of;
        v -= above[3] * of;
    }
    if (!(s[0] > 0.0))
        return k + 1;
    a[0] = 1.0 / sqrt(s[0]);
    s *= a[0];
    t -= s[1] * s;
    u -= s[2] * s;
    v -= s[3] * s;
    if (!(t[1] > 0.0))
        return k + 2;
    b[1] = 1.0 / sqrt(t[1]);
    t *= b[1];
    u -= t[2] * t;
    v -= t[3] * t;
    if (!(u[2] > 0.0))
        return k + 3;
    c[2] = 1.0 / sqrt(u[2]);
    u *= c[2];
    v -= u[3] * u;
    if (!(v[3] > 0.0))
        return k + 4;
    d[3] = 1.0 / sqrt(v[3]);
    a[1] = s[1];
    a[2] = s[2];
    a[3] = s[3];
    b[2] = t[2];
    b[3] = t[3];
    c[3] = u[3];
    return 0;
}

/* The products of rows k to k + 3 of U with x behind them; the last numbers of x first, because those before them have just been found. */
ADAREG_INLINE void adareg_dots_of_four(const double *U, const double *x, ptrdiff_t n, ptrdiff_t k, double *out)
{
    const double *a = U + k * n, *b = a + n, *c = b + n, *d = c + n;
    adareg_four s = {0.0, 0.0, 0.0, 0.0}, t = s, u = s, v = s;
    for (ptrdiff_t j = n - 4; j > k; j -= 4) {
        const adareg_four of = ADAREG_FOUR(x + j);
        s += ADAREG_FOUR(a + j) * of;
        t += ADAREG_FOUR(b + j) * of;
        u += ADAREG_FOUR(c + j) * of;
        v += ADAREG_FOUR(d + j) * of;
    }
    out[0] = adareg_sum_of_four(s);
    out[1] = adareg_sum_of_four(t);
    out[2] = adareg_sum_of_four(u);
    out[3] = adareg_sum_of_four(v);
}
#else
ADAREG_INLINE void adareg_dots_of_four(const double *U, const double *x, ptrdiff_t n, ptrdiff_t k, double *out)
{
    for (int q = 0; q < 4; q++) {
        out[q] = 0.0;
        for (ptrdiff_t j = k + 4; j < n; j++)
            out[q] += U[(k + q) * n + j] * x[j];
    }
}
#endif

/* One row of U, by the rows above; whether its pivot is positive */
ADAREG_INLINE int adareg_cholesky_row(double *A, ptrdiff_t n, ptrdiff_t k)
{
    double *ADAREG_RESTRICT row = A + k * n;
    for (ptrdiff_t p = 0; p < k; p++) {
        adareg_in above = A + p * n;
        const double factor = above[k];
        for (ptrdiff_t j = k; j < n; j++)
            row[j] -= factor * above[j];
    }
    if (!(row[k] > 0.0))
        return 0;
    const double inverse = 1.0 / sqrt(row[k]);
    row[k] = inverse;
    for (ptrdiff_t j = k + 1; j < n; j++)
        row[j] *= inverse;
    return 1;
}

/* A ← U: 0, or the number of the row, from 1, whose pivot is not positive */
ADAREG_CLONES static ptrdiff_t adareg_cholesky(double *A, ptrdiff_t n)
{
#if defined(__GNUC__)
    const ptrdiff_t alone = n % 4;
#else
    const ptrdiff_t alone = n;
#endif
    for (ptrdiff_t k = 0; k < alone; k++)
        if (!adareg_cholesky_row(A, n, k))
            return k + 1;
#if defined(__GNUC__)
    for (ptrdiff_t k = alone; k < n; k += 4) {
        const ptrdiff_t failed = adareg_cholesky_corner(A, n, k);
        if (failed)
            return failed;
        ptrdiff_t j = k + 4;
        for (; j + 8 <= n; j += 8)
            adareg_cholesky_tile(A, n, k, j, 2);
        if (j < n)
            adareg_cholesky_tile(A, n, k, j, 1);
    }
#endif
    return 0;
}

/* x ← (UᵀU)⁻¹ x with such a factor, four rows at a time too: a row by itself would wait for the one before it */
ADAREG_CLONES static void adareg_cholesky_solve(adareg_in U, adareg_out x, ptrdiff_t n)
{
    const ptrdiff_t alone = n % 4;
    ptrdiff_t k = 0;
    for (; k < alone; k++) {
        const double value = x[k] = x[k] * U[k * n + k];
        for (ptrdiff_t j = k + 1; j < n; j++)
            x[j] -= value * U[k * n + j];
    }
    for (; k < n; k += 4) {
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
    for (k = n - 4; k >= alone; k -= 4) {
        adareg_in a = U + k * n, b = a + n, c = b + n, d = c + n;
        double behind[4];
        adareg_dots_of_four(U, x, n, k, behind);
        const double v = (x[k + 3] - behind[3]) * d[k + 3];
        const double u = (x[k + 2] - behind[2] - v * c[k + 3]) * c[k + 2];
        const double t = (x[k + 1] - behind[1] - v * b[k + 3] - u * b[k + 2]) * b[k + 1];
        x[k] = (x[k] - behind[0] - v * a[k + 3] - u * a[k + 2] - t * a[k + 1]) * a[k];
        x[k + 1] = t;
        x[k + 2] = u;
        x[k + 3] = v;
    }
    for (k = alone - 1; k >= 0; k--) {
        double value = x[k];
        for (ptrdiff_t j = k + 1; j < n; j++)
            value -= U[k * n + j] * x[j];
        x[k] = value * U[k * n + k];
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
