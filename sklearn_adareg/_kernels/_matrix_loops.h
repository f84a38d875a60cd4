/* Small symmetric matrices on machines with AVX-512, eight numbers at a time: n is a multiple of 8, and a matrix of 16 rows is 32
   vectors. Without that instruction set vectors of eight are taken apart, so other machines have the loops of _loops.h and
   _block_loops.h. The two differ by rounding only. */
#ifndef ADAREG_MATRIX_LOOPS_H
#define ADAREG_MATRIX_LOOPS_H

#include "_loops.h"
#include "_loops_avx512.h"

#if defined(ADAREG_WIDE)
#define ADAREG_EIGHTS 1

typedef double adareg_eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long adareg_order __attribute__((vector_size(64)));
#define ADAREG_EIGHT(address) (*(adareg_eight *)(address))
#define ADAREG_EIGHT_INLINE __attribute__((target("avx512f,avx512vl,avx512dq,fma"), always_inline)) static inline
#define ADAREG_EIGHT_LOOP __attribute__((target("avx512f,avx512vl,avx512dq,fma"), noinline, unused)) static

ADAREG_EIGHT_INLINE double adareg_sum_of_eight(adareg_eight a)
{
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* The sums of eight vectors, one in each place. */
ADAREG_EIGHT_INLINE adareg_eight adareg_eight_sums(const adareg_eight *row)
{
    const adareg_order even = {0, 8, 2, 10, 4, 12, 6, 14}, odd = {1, 9, 3, 11, 5, 13, 7, 15};
    const adareg_order low = {0, 1, 8, 9, 4, 5, 12, 13}, high = {2, 3, 10, 11, 6, 7, 14, 15};
    const adareg_order first = {0, 1, 2, 3, 8, 9, 10, 11}, last = {4, 5, 6, 7, 12, 13, 14, 15};
    adareg_eight pair[4], four[2];
    for (int k = 0; k < 4; k++)
        pair[k] = __builtin_shuffle(row[2 * k], row[2 * k + 1], even) + __builtin_shuffle(row[2 * k], row[2 * k + 1], odd);
    for (int k = 0; k < 2; k++)
        four[k] = __builtin_shuffle(pair[2 * k], pair[2 * k + 1], low) + __builtin_shuffle(pair[2 * k], pair[2 * k + 1], high);
    return __builtin_shuffle(four[0], four[1], first) + __builtin_shuffle(four[0], four[1], last);
}

/* Eight rows of eight become columns. */
ADAREG_EIGHT_INLINE void adareg_turn_over(adareg_eight *row)
{
    const adareg_order even = {0, 8, 2, 10, 4, 12, 6, 14}, odd = {1, 9, 3, 11, 5, 13, 7, 15};
    const adareg_order low = {0, 1, 8, 9, 4, 5, 12, 13}, high = {2, 3, 10, 11, 6, 7, 14, 15};
    const adareg_order first = {0, 1, 2, 3, 8, 9, 10, 11}, last = {4, 5, 6, 7, 12, 13, 14, 15};
    adareg_eight pair[8], four[8];
    for (int k = 0; k < 8; k += 2) {
        pair[k] = __builtin_shuffle(row[k], row[k + 1], even);
        pair[k + 1] = __builtin_shuffle(row[k], row[k + 1], odd);
    }
    for (int k = 0; k < 8; k += 4)
        for (int i = 0; i < 2; i++) {
            four[k + i] = __builtin_shuffle(pair[k + i], pair[k + 2 + i], low);
            four[k + 2 + i] = __builtin_shuffle(pair[k + i], pair[k + 2 + i], high);
        }
    for (int i = 0; i < 4; i++) {
        row[i] = __builtin_shuffle(four[i], four[4 + i], first);
        row[4 + i] = __builtin_shuffle(four[i], four[4 + i], last);
    }
}

/* A += Σ_k g_k g_kᵀ of m rows g, both triangles; eight rows of A, of at most 16 columns at a time, stay in registers */
ADAREG_EIGHT_INLINE void adareg_add_squares_of(const double *g, ptrdiff_t m, double *A, const ptrdiff_t n, ptrdiff_t from, const int c)
{
    for (ptrdiff_t i = 0; i < n; i += 8) {
        adareg_eight sum[8][2];
        for (int r = 0; r < 8; r++)
            for (int k = 0; k < c; k++)
                sum[r][k] = ADAREG_EIGHT(A + (i + r) * n + from + 8 * k);
        for (ptrdiff_t row = 0; row < m; row++) {
            const double *of = g + row * n;
            for (int r = 0; r < 8; r++)
                for (int k = 0; k < c; k++)
                    sum[r][k] += of[i + r] * ADAREG_EIGHT(of + from + 8 * k);
        }
        for (int r = 0; r < 8; r++)
            for (int k = 0; k < c; k++)
                ADAREG_EIGHT(A + (i + r) * n + from + 8 * k) = sum[r][k];
    }
}

/* The same for n = 16: three tiles of eight rows, of which one goes to both sides of the diagonal */
ADAREG_EIGHT_INLINE void adareg_add_squares_of_16(const double *g, ptrdiff_t m, double *A)
{
    adareg_eight first[8], last[8], between[8];
    for (int r = 0; r < 8; r++) {
        first[r] = ADAREG_EIGHT(A + r * 16);
        between[r] = ADAREG_EIGHT(A + (8 + r) * 16);
        last[r] = ADAREG_EIGHT(A + (8 + r) * 16 + 8);
    }
    for (ptrdiff_t row = 0; row < m; row++) {
        const double *of = g + row * 16;
        const adareg_eight low = ADAREG_EIGHT(of), high = ADAREG_EIGHT(of + 8);
        for (int r = 0; r < 8; r++) {
            first[r] += of[r] * low;
            between[r] += of[8 + r] * low;
            last[r] += of[8 + r] * high;
        }
    }
    for (int r = 0; r < 8; r++) {
        ADAREG_EIGHT(A + r * 16) = first[r];
        ADAREG_EIGHT(A + (8 + r) * 16) = between[r];
        ADAREG_EIGHT(A + (8 + r) * 16 + 8) = last[r];
    }
    adareg_turn_over(between);
    for (int r = 0; r < 8; r++)
        ADAREG_EIGHT(A + r * 16 + 8) = between[r];
}

ADAREG_EIGHT_LOOP void adareg_add_squares_512(const double *g, ptrdiff_t m, double *A, ptrdiff_t n)
{
    ptrdiff_t from = 0;
    if (n == 16) {
        adareg_add_squares_of_16(g, m, A);
        return;
    }
    for (; from + 16 <= n; from += 16)
        adareg_add_squares_of(g, m, A, n, from, 2);
    if (from < n)
        adareg_add_squares_of(g, m, A, n, from, 1);
}

/* along = V g by the rows of V, b = along · roots, out = Vᵀ(η h · along); returns bᵀb. n = 8c. */
ADAREG_EIGHT_INLINE double adareg_turn_of(const double *V, const double *roots, const double *h, double eta, const double *g, double *b,
                                          double *out, const int c)
{
    adareg_eight of[4], to[4], squares = {0};
    for (int k = 0; k < c; k++) {
        of[k] = ADAREG_EIGHT(g + 8 * k);
        to[k] = (adareg_eight){0};
    }
    for (ptrdiff_t i = 0; i < 8 * c; i += 8) {
        const double *rows = V + i * 8 * c;
        adareg_eight part[8], along, step;
        for (int r = 0; r < 8; r++) {
            part[r] = of[0] * ADAREG_EIGHT(rows + r * 8 * c);
            for (int k = 1; k < c; k++)
                part[r] += of[k] * ADAREG_EIGHT(rows + r * 8 * c + 8 * k);
        }
        along = adareg_eight_sums(part);
        step = along * ADAREG_EIGHT(roots + i);
        ADAREG_EIGHT(b + i) = step;
        squares += step * step;
        step = eta * ADAREG_EIGHT(h + i) * along;
        for (int r = 0; r < 8; r++)
            for (int k = 0; k < c; k++)
                to[k] += step[r] * ADAREG_EIGHT(rows + r * 8 * c + 8 * k);
    }
    for (int k = 0; k < c; k++)
        ADAREG_EIGHT(out + 8 * k) = to[k];
    return adareg_sum_of_eight(squares);
}

ADAREG_EIGHT_LOOP double adareg_turn_512(const double *V, const double *roots, const double *h, double eta, const double *g, double *b,
                                         double *out, ptrdiff_t n)
{
    if (n == 8)
        return adareg_turn_of(V, roots, h, eta, g, b, out, 1);
    if (n == 16)
        return adareg_turn_of(V, roots, h, eta, g, b, out, 2);
    return adareg_turn_of(V, roots, h, eta, g, b, out, 4);
}
#else
#define ADAREG_EIGHTS 0
#endif

/* Whether loops for eight numbers at a time can be had. */
ADAREG_INLINE int adareg_by_eights(ptrdiff_t n)
{
#if ADAREG_EIGHTS
    return (n & 7) == 0 && ADAREG_WIDE;
#else
    (void)n;
    return 0;
#endif
}

/* A += Σ_k g_k g_kᵀ of m rows g, A symmetric and n × n, both triangles; for an n of a few cache lines */
ADAREG_UNUSED static void adareg_add_outer(const double *g, ptrdiff_t m, double *A, ptrdiff_t n)
{
#if ADAREG_EIGHTS
    if (adareg_by_eights(n)) {
        adareg_add_squares_512(g, m, A, n);
        return;
    }
#endif
    adareg_add_squares(g, m, A, n);
}

/* For n rows V of eigenvectors: b = roots · (V g), out = Vᵀ(η h · (V g)); returns bᵀb. ``along`` is scratch of n numbers. */
ADAREG_UNUSED static double adareg_turn(const double *V, const double *roots, const double *h, double eta, const double *g, double *along,
                                        double *b, double *out, ptrdiff_t n)
{
#if ADAREG_EIGHTS
    if (n <= 32 && n != 24 && adareg_by_eights(n))
        return adareg_turn_512(V, roots, h, eta, g, b, out, n);
#endif
    adareg_dots(V, g, along, n);
    for (ptrdiff_t i = 0; i < n; i++) {
        b[i] = along[i] * roots[i];
        along[i] *= eta * h[i];
        out[i] = 0.0;
    }
    adareg_combine(V, n, 0, along, n, out, n);
    return adareg_dot(b, b, n);
}

#endif
