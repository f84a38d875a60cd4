/* Eigenvalues and eigenvectors of a small symmetric matrix: Householder's reduction to a tridiagonal matrix and implicit QL steps
   (the algorithms of EISPACK's tred2 and tql2), with eigenvectors in rows, so that every inner loop runs along memory.
   For 16 coordinates LAPACK takes several times as long, most of it in calls. */
#ifndef ADAREG_EIGEN_LOOPS_H
#define ADAREG_EIGEN_LOOPS_H

#include "_loops.h"

/* A becomes Q of QᵀTQ, one row per column of Householder's Q; d and e the diagonal of T and what lies beside it, from e[1]. */
ADAREG_INLINE void adareg_tridiagonal(double *ADAREG_RESTRICT A, double *ADAREG_RESTRICT d, double *ADAREG_RESTRICT e,
                                      const ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++)
        d[j] = A[j * n + n - 1];
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        double scale = 0.0, h = 0.0, f, g;
        for (ptrdiff_t k = 0; k < i; k++)
            scale += fabs(d[k]);
        if (scale == 0.0) {
            e[i] = d[i - 1];
            for (ptrdiff_t j = 0; j < i; j++) {
                d[j] = A[j * n + i - 1];
                A[j * n + i] = A[i * n + j] = 0.0;
            }
        } else {
            for (ptrdiff_t k = 0; k < i; k++) {
                d[k] /= scale;
                h += d[k] * d[k];
            }
            f = d[i - 1];
            g = f > 0.0 ? -sqrt(h) : sqrt(h);
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            for (ptrdiff_t j = 0; j < i; j++)
                e[j] = 0.0;
            for (ptrdiff_t j = 0; j < i; j++) {
                double *row = A + j * n;
                f = d[j];
                A[i * n + j] = f;
                g = e[j] + row[j] * f;
                for (ptrdiff_t k = j + 1; k < i; k++)
                    g += row[k] * d[k];
                for (ptrdiff_t k = j + 1; k < i; k++)
                    e[k] += row[k] * f;
                e[j] = g;
            }
            f = 0.0;
            for (ptrdiff_t j = 0; j < i; j++) {
                e[j] /= h;
                f += e[j] * d[j];
            }
            g = f / (h + h);
            for (ptrdiff_t j = 0; j < i; j++)
                e[j] -= g * d[j];
            for (ptrdiff_t j = 0; j < i; j++) {
                double *row = A + j * n;
                f = d[j];
                g = e[j];
                for (ptrdiff_t k = j; k < i; k++)
                    row[k] -= f * e[k] + g * d[k];
                d[j] = row[i - 1];
                row[i] = 0.0;
            }
        }
        d[i] = h;
    }
    for (ptrdiff_t i = 0; i < n - 1; i++) {
        double *next = A + (i + 1) * n;
        const double h = d[i + 1];
        A[i * n + n - 1] = A[i * n + i];
        A[i * n + i] = 1.0;
        if (h != 0.0) {
            for (ptrdiff_t k = 0; k <= i; k++)
                d[k] = next[k] / h;
            for (ptrdiff_t j = 0; j <= i; j++) {
                double *row = A + j * n, g = 0.0;
                for (ptrdiff_t k = 0; k <= i; k++)
                    g += next[k] * row[k];
                for (ptrdiff_t k = 0; k <= i; k++)
                    row[k] -= g * d[k];
            }
        }
        for (ptrdiff_t k = 0; k <= i; k++)
            next[k] = 0.0;
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        d[j] = A[j * n + n - 1];
        A[j * n + n - 1] = 0.0;
    }
    A[n * n - 1] = 1.0;
    e[0] = 0.0;
}

/* QL steps until T is diagonal; 0, or 1 if that takes too long (or a number is not finite). */
ADAREG_INLINE int adareg_implicit_ql(double *A, double *d, double *e, const ptrdiff_t n)
{
    double shift = 0.0, largest = 0.0;
    for (ptrdiff_t i = 1; i < n; i++)
        e[i - 1] = e[i];
    e[n - 1] = 0.0;
    for (ptrdiff_t l = 0; l < n; l++) {
        const double size = fabs(d[l]) + fabs(e[l]);
        ptrdiff_t m = l;
        largest = size > largest ? size : largest;
        while (m < n - 1 && !(fabs(e[m]) <= 0x1p-52 * largest))
            m++;
        for (int step = 0; m > l; step++) {
            double g = d[l], p = (d[l + 1] - g) / (2.0 * e[l]), r = sqrt(p * p + 1.0);
            double h, c = 1.0, c2 = 1.0, c3 = 1.0, s = 0.0, s2 = 0.0, beside, far;
            if (step == 60)
                return 1;
            r = p < 0.0 ? -r : r;
            d[l] = e[l] / (p + r);
            d[l + 1] = beside = e[l] * (p + r);
            h = g - d[l];
            for (ptrdiff_t i = l + 2; i < n; i++)
                d[i] -= h;
            shift += h;
            p = d[m];
            far = e[l + 1];
            for (ptrdiff_t i = m - 1; i >= l; i--) {
                double *ADAREG_RESTRICT one = A + i * n, *ADAREG_RESTRICT two = A + (i + 1) * n;
                c3 = c2;
                c2 = c;
                s2 = s;
                g = c * e[i];
                h = c * p;
                r = sqrt(p * p + e[i] * e[i]);
                e[i + 1] = s * r;
                s = e[i] / r;
                c = p / r;
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                for (ptrdiff_t k = 0; k < n; k++) {
                    const double a = one[k], b = two[k];
                    two[k] = s * a + c * b;
                    one[k] = c * a - s * b;
                }
            }
            p = -s * s2 * c3 * far * e[l] / beside;
            e[l] = s * p;
            d[l] = c * p;
            if (fabs(e[l]) <= 0x1p-52 * largest)
                break;
        }
        d[l] += shift;
        e[l] = 0.0;
    }
    return 0;
}

/* A, symmetric with both triangles, becomes its eigenvectors, one per row, and d their eigenvalues, in no order; e is scratch of n
   numbers. Entries are first brought near 1 by a power of two, so that no square over- or underflows. */
ADAREG_CLONES static int adareg_small_eigen(double *A, double *d, double *e, ptrdiff_t n)
{
    double top = 0.0, factor;
    int exponent, failed;
    for (ptrdiff_t i = 0; i < n * n; i++)
        top = fabs(A[i]) > top ? fabs(A[i]) : top;
    frexp(top, &exponent);
    factor = ldexp(1.0, -exponent);
    for (ptrdiff_t i = 0; i < n * n; i++)
        A[i] *= factor;
    adareg_tridiagonal(A, d, e, n);
    failed = adareg_implicit_ql(A, d, e, n);
    for (ptrdiff_t i = 0; i < n; i++) {
        d[i] = ldexp(d[i], exponent);
        failed |= !isfinite(d[i]);
    }
    return failed;
}

/* Whether A, symmetric with both triangles, is positive definite: by elimination, which destroys it. Whole rows, since their length is
   known and a few numbers more cost nothing. */
ADAREG_INLINE int adareg_is_definite_of(double *A, const ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *ADAREG_RESTRICT row = A + j * n;
        if (!(row[j] > 0.0))
            return 0;
        const double inverse = 1.0 / row[j];
        for (ptrdiff_t i = j + 1; i < n; i++) {
            double *ADAREG_RESTRICT next = A + i * n;
            const double factor = inverse * row[i];
            for (ptrdiff_t k = 0; k < n; k++)
                next[k] -= factor * row[k];
        }
    }
    return 1;
}

ADAREG_CLONES static int adareg_is_definite(double *A, ptrdiff_t n)
{
    if (n == 16)
        return adareg_is_definite_of(A, 16);
    return adareg_is_definite_of(A, n);
}

#endif
