/* The innermost loops, in C for two things that Cython has no words for: `restrict`, without which every store forces the next
   loads, and function multiversioning, which lets one binary use AVX2 where the machine has it.
   Weight vectors that read the row together lie side by side. */
#ifndef ADAREG_LOOPS_H
#define ADAREG_LOOPS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define ADAREG_CLONES __attribute__((target_clones("default", "arch=x86-64-v3"), unused))
#elif defined(__GNUC__)
#define ADAREG_CLONES __attribute__((unused))
#else
#define ADAREG_CLONES
#endif

#if defined(__GNUC__)
#define ADAREG_UNUSED __attribute__((unused))
#else
#define ADAREG_UNUSED
#endif

#if defined(_MSC_VER)
#define ADAREG_RESTRICT __restrict
#else
#define ADAREG_RESTRICT __restrict__
#endif

#if defined(__GNUC__)
#define ADAREG_INLINE static inline __attribute__((always_inline))
#define ADAREG_FETCH(address) __builtin_prefetch(address)
#else
#define ADAREG_INLINE static inline
#define ADAREG_FETCH(address)
#endif

typedef const double *ADAREG_RESTRICT adareg_in;
typedef double *ADAREG_RESTRICT adareg_out;

/* Ask for memory before it is needed; of a long stretch only the beginning, after which the hardware sees where it leads. */
ADAREG_INLINE void adareg_ask_for(const void *from, ptrdiff_t bytes)
{
    if (bytes <= 0)
        return; /* `from` may be null then, and null has no neighbours */
    const char *at = (const char *)from, *end = at + (bytes < 1024 ? bytes : 1024);
    for (; at < end; at += 64)
        ADAREG_FETCH(at);
    ADAREG_FETCH(end - 1);
}

/* Σ a_i b_i in eight partial sums, which become vectors. Not wider ones: a load can be served from a store that is still under way
   only where the store covers it, and x has just been stored. */
ADAREG_CLONES static double adareg_dot(adareg_in a, adareg_in b, ptrdiff_t n)
{
    double part[8] = {0}, rest = 0.0;
    const ptrdiff_t whole = n & ~(ptrdiff_t)7;
    for (ptrdiff_t j = 0; j < whole; j += 8)
        for (int k = 0; k < 8; k++)
            part[k] += a[j + k] * b[j + k];
    for (ptrdiff_t j = whole; j < n; j++)
        rest += a[j] * b[j];
    return rest + (((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])));
}

/* m_l = Σ_j z_j x_jl, eight weight vectors at a time in registers */
ADAREG_CLONES static void adareg_vector_dots(adareg_in z, adareg_in x, adareg_out m, ptrdiff_t n, ptrdiff_t L)
{
    ptrdiff_t l = 0;
    for (; l + 8 <= L; l += 8) {
        double part[8] = {0};
        for (ptrdiff_t j = 0; j < n; j++)
            for (int k = 0; k < 8; k++)
                part[k] += z[j] * x[j * L + l + k];
        for (int k = 0; k < 8; k++)
            m[l + k] = part[k];
    }
    for (; l + 2 <= L; l += 2) {
        double a = 0.0, b = 0.0;
        for (ptrdiff_t j = 0; j < n; j++) {
            a += z[j] * x[j * L + l];
            b += z[j] * x[j * L + l + 1];
        }
        m[l] = a;
        m[l + 1] = b;
    }
    if (l < L) {
        double a = 0.0;
        for (ptrdiff_t j = 0; j < n; j++)
            a += z[j] * x[j * L + l];
        m[l] = a;
    }
}

/* z = a as doubles; returns Σ a_i². Summed on the way, since what has just been stored cannot be loaded at once. */
#define ADAREG_TAKE(TYPE)                                                                                              \
    ADAREG_CLONES static double adareg_take_##TYPE(const TYPE *ADAREG_RESTRICT a, adareg_out z, ptrdiff_t n)           \
    {                                                                                                                  \
        double part[8] = {0}, rest = 0.0;                                                                              \
        const ptrdiff_t whole = n & ~(ptrdiff_t)7;                                                                     \
        for (ptrdiff_t j = 0; j < whole; j += 8)                                                                       \
            for (int k = 0; k < 8; k++) {                                                                              \
                const double value = a[j + k];                                                                         \
                z[j + k] = value;                                                                                      \
                part[k] += value * value;                                                                              \
            }                                                                                                          \
        for (ptrdiff_t j = whole; j < n; j++) {                                                                        \
            const double value = a[j];                                                                                 \
            z[j] = value;                                                                                              \
            rest += value * value;                                                                                     \
        }                                                                                                              \
        return rest + (((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])));     \
    }
ADAREG_TAKE(double)
ADAREG_TAKE(float)

/* number = a; returns the largest, as if none were negative (those then are the largest) */
ADAREG_CLONES static uint32_t adareg_take_numbers(const int32_t *ADAREG_RESTRICT a, int *ADAREG_RESTRICT number, ptrdiff_t n)
{
    uint32_t largest = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        const uint32_t value = (uint32_t)a[j];
        number[j] = a[j];
        largest = value > largest ? value : largest;
    }
    return largest;
}

/* log(1 + e) for 0 ≤ e ≤ 1 as 2 artanh(s), s = e / (2 + e). Of artanh(s) / s a polynomial in s² ≤ 1/9, of the least largest error:
   5e-17, so the result is exact to the last place or two. The library's log1p looks at the size of e first, which is as random as the
   labels, and a wrong guess costs the processor more than the polynomial. */
ADAREG_CLONES static double adareg_log1p_of_unit(double e)
{
    const double s = e / (2.0 + e), w = s * s, w2 = w * w, w4 = w2 * w2;
    const double a = (1.0 + w * 0.33333333333341286) + w2 * (0.199999999976438 + w * 0.1428571455582858);
    const double b = (0.11111095430673142 + w * 0.09091429900236955) + w2 * (0.07681838124445817 + w * 0.06795652742789947);
    const double c = 0.04940394524382393 + w * 0.08890381913056651;
    return 2.0 * s * (a + w4 * (b + w4 * c));
}

/* Σ_j z_j x[index_j] */
ADAREG_UNUSED static double adareg_sparse_dot(adareg_in z, const int *index, adareg_in x, ptrdiff_t n)
{
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        a += z[j] * x[index[j]];
        b += z[j + 1] * x[index[j + 1]];
        c += z[j + 2] * x[index[j + 2]];
        d += z[j + 3] * x[index[j + 3]];
    }
    for (; j < n; j++)
        a += z[j] * x[index[j]];
    return (a + b) + (c + d);
}

#include "_square_loops.h"

/* G += g², g = s z */
ADAREG_INLINE void adareg_square_in_of(adareg_in z, adareg_in s, adareg_out G, ptrdiff_t n, const ptrdiff_t L)
{
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < L; l++)
            G[j * L + l] += (z[j] * s[l]) * (z[j] * s[l]);
}

ADAREG_CLONES static void adareg_square_in(adareg_in z, adareg_in s, adareg_out G, ptrdiff_t n, ptrdiff_t L)
{
    if (L == 1)
        adareg_square_in_of(z, s, G, n, 1);
    else if (L == 2)
        adareg_square_in_of(z, s, G, n, 2);
    else
        adareg_square_in_of(z, s, G, n, L);
}

/* x −= h g for one step h a weight vector (hs = h s), and the average's accumulator along with it */
ADAREG_CLONES static void adareg_scaled_step(adareg_in z, adareg_in hs, double C, adareg_out x, adareg_out u, ptrdiff_t n,
                                             ptrdiff_t L)
{
    if (L == 1) {
        const double step = hs[0], weighed = C * hs[0];
        for (ptrdiff_t j = 0; j < n; j++) {
            x[j] -= step * z[j];
            if (u)
                u[j] -= weighed * z[j];
        }
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < L; l++) {
            const double delta = hs[l] * z[j];
            x[j * L + l] -= delta;
            if (u)
                u[j * L + l] -= C * delta;
        }
}


/* Sparse rows where their coordinates lie: the numbers of coordinate i are x[i·stride + l], G[…] and u[…], one a weight vector. Where they lie side by side
   that is one cache line or two a coordinate. */
ADAREG_INLINE void adareg_record_dots_of(const double *x, const double *G, const double *u, ptrdiff_t stride, const int *index,
                                         adareg_in z, double *m, double *a, adareg_out v, ptrdiff_t n, const ptrdiff_t L)
{
    double last[4][2] = {{0}}, mean[4][2] = {{0}}; /* four sums each, lest every addition wait for the one before it */
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (int k = 0; k < 4; k++) {
            const ptrdiff_t at = index[j + k] * stride;
            for (ptrdiff_t l = 0; l < L; l++) {
                last[k][l] += z[j + k] * x[at + l];
                v[(j + k) * L + l] = G[at + l];
            }
            if (a)
                for (ptrdiff_t l = 0; l < L; l++)
                    mean[k][l] += z[j + k] * u[at + l];
        }
    for (; j < n; j++) {
        const ptrdiff_t at = index[j] * stride;
        for (ptrdiff_t l = 0; l < L; l++) {
            last[0][l] += z[j] * x[at + l];
            v[j * L + l] = G[at + l];
            if (a)
                mean[0][l] += z[j] * u[at + l];
        }
    }
    for (ptrdiff_t l = 0; l < L; l++) {
        m[l] = (last[0][l] + last[1][l]) + (last[2][l] + last[3][l]);
        if (a)
            a[l] = (mean[0][l] + mean[1][l]) + (mean[2][l] + mean[3][l]);
    }
}

/* m_l = Σ z_j x_jl and, unless a is NULL, a_l = Σ z_j u_jl; and v = G of the touched coordinates, while they are at hand */
ADAREG_UNUSED static void adareg_record_dots(const double *x, const double *G, const double *u, ptrdiff_t stride, const int *index,
                                             const double *z, double *m, double *a, double *v, ptrdiff_t n, ptrdiff_t L)
{
    if (L == 1)
        adareg_record_dots_of(x, G, u, stride, index, z, m, a, v, n, 1);
    else if (L == 2)
        adareg_record_dots_of(x, G, u, stride, index, z, m, a, v, n, 2);
    else {
        for (ptrdiff_t l = 0; l < L; l++) {
            m[l] = 0.0;
            if (a)
                a[l] = 0.0;
        }
        adareg_combine(x, stride, index, z, n, m, L);
        if (a)
            adareg_combine(u, stride, index, z, n, a, L);
        for (ptrdiff_t j = 0; j < n; j++)
            memcpy(v + j * L, G + index[j] * stride, L * sizeof(double));
    }
}

/* g ← (S + prior·I)⁻¹ g by S + prior·I = L D Lᵀ; S is width × width, width ≤ 8. */
ADAREG_INLINE void adareg_small_solve_of(const double *S, double prior, double *g, const ptrdiff_t width)
{
    double F[8][8], inverse[8];
    for (ptrdiff_t a = 0; a < width; a++) {
        double pivot = S[a * width + a] + prior;
        for (ptrdiff_t b = 0; b < a; b++) {
            double total = S[a * width + b];
            for (ptrdiff_t c = 0; c < b; c++)
                total -= F[a][c] * F[b][c] * inverse[c];
            F[a][b] = total; /* L_ab D_b */
        }
        for (ptrdiff_t c = 0; c < a; c++)
            pivot -= F[a][c] * F[a][c] * inverse[c];
        inverse[a] = 1.0 / pivot;
    }
    for (ptrdiff_t a = 0; a < width; a++)
        for (ptrdiff_t c = 0; c < a; c++)
            g[a] -= F[a][c] * inverse[c] * g[c];
    for (ptrdiff_t a = width - 1; a >= 0; a--) {
        double total = g[a];
        for (ptrdiff_t c = a + 1; c < width; c++)
            total -= F[c][a] * g[c];
        g[a] = total * inverse[a];
    }
}

ADAREG_UNUSED static void adareg_small_solve(const double *S, double prior, double *g, ptrdiff_t width)
{
    if (width == 4)
        adareg_small_solve_of(S, prior, g, 4);
    else if (width == 5)
        adareg_small_solve_of(S, prior, g, 5);
    else
        adareg_small_solve_of(S, prior, g, width);
}

/* T = fade·S + h f fᵀ */
ADAREG_INLINE void adareg_fade_in_of(const double *S, double fade, double h, adareg_in f, adareg_out T, const ptrdiff_t width)
{
    for (ptrdiff_t a = 0; a < width; a++)
        for (ptrdiff_t b = 0; b < width; b++)
            T[a * width + b] = fade * S[a * width + b] + h * f[a] * f[b];
}

ADAREG_UNUSED static void adareg_fade_in(const double *S, double fade, double h, const double *f, double *T, ptrdiff_t width)
{
    if (width == 4)
        adareg_fade_in_of(S, fade, h, f, T, 4);
    else if (width == 5)
        adareg_fade_in_of(S, fade, h, f, T, 5);
    else
        adareg_fade_in_of(S, fade, h, f, T, width);
}

#endif
