/* The innermost loops, in C for two things that Cython has no words for: `restrict`, without which every store forces the next
   loads, and function multiversioning, which lets one binary use AVX2 or AVX-512 where the machine has them.

   A potential's ψ is inlined into the loops of a diagonal round by ADAREG_LOOPS, so accumulate, precondition, step and
   average are one pass over the coordinates. Lanes (weight vectors that read the row together) lie side by side. */
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

#include "_loops_avx512.h"

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

/* m_l = Σ_j z_j x_jl, eight lanes at a time in registers */
ADAREG_CLONES static void adareg_lane_dots(adareg_in z, adareg_in x, adareg_out m, ptrdiff_t n, ptrdiff_t L)
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

/* log(1 + e) for 0 ≤ e ≤ 1 as 2 artanh(e / (2 + e)), whose series in (e / (2 + e))² ≤ 1/9 is exact to the last place or two after
   sixteen terms. The library's log1p looks at the size of e first, which is as random as the labels, and a wrong guess costs the
   processor more than the series. */
ADAREG_CLONES static double adareg_log1p_of_unit(double e)
{
    const double s = e / (2.0 + e), w = s * s, w2 = w * w, w4 = w2 * w2, w8 = w4 * w4;
    const double a = (1.0 + w * (1.0 / 3)) + w2 * (1.0 / 5 + w * (1.0 / 7)), b = (1.0 / 9 + w * (1.0 / 11)) + w2 * (1.0 / 13 + w * (1.0 / 15));
    const double c = (1.0 / 17 + w * (1.0 / 19)) + w2 * (1.0 / 21 + w * (1.0 / 23)), d = (1.0 / 25 + w * (1.0 / 27)) + w2 * (1.0 / 29 + w * (1.0 / 31));
    return 2.0 * s * ((a + w4 * b) + w8 * (c + w4 * d));
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

/* A += a v vᵀ, A symmetric and D × D, both triangles */
ADAREG_CLONES static void adareg_rank_one(double a, adareg_in v, adareg_out A, ptrdiff_t D)
{
    for (ptrdiff_t i = 0; i < D; i++) {
        const double w = a * v[i];
        for (ptrdiff_t j = 0; j < D; j++)
            A[i * D + j] += w * v[j];
    }
}

/* y += a x */
ADAREG_CLONES static void adareg_axpy(double a, adareg_in x, adareg_out y, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* out += Σ_j w_j row_j, rows of a matrix by number (or, without numbers, the first n), four at a time */
ADAREG_CLONES static void adareg_combine(adareg_in matrix, ptrdiff_t stride, const int *index, adareg_in w, ptrdiff_t n,
                                         adareg_out out, ptrdiff_t D)
{
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const double *a = matrix + (index ? index[j] : j) * stride, *b = matrix + (index ? index[j + 1] : j + 1) * stride;
        const double *c = matrix + (index ? index[j + 2] : j + 2) * stride;
        const double *d = matrix + (index ? index[j + 3] : j + 3) * stride;
        const double p = w[j], q = w[j + 1], r = w[j + 2], t = w[j + 3];
        for (ptrdiff_t i = 0; i < D; i++)
            out[i] += (p * a[i] + q * b[i]) + (r * c[i] + t * d[i]);
    }
    for (; j < n; j++) {
        const double *a = matrix + (index ? index[j] : j) * stride;
        for (ptrdiff_t i = 0; i < D; i++)
            out[i] += w[j] * a[i];
    }
}

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

/* x −= h g for one step h a lane (hs = h s), and the average's accumulator along with it */
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

#define ADAREG_BLOCK 128 /* numbers of many lanes that are worked on at a time */

/* Sparse rows where their coordinates lie: the numbers of coordinate i are x[i·stride + l], G[…] and u[…], one a lane. Where they lie side by side
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

/* The end of a round on records: G = v, x −= δ, u −= C δ, with δ = (η s) z h */
ADAREG_INLINE void adareg_scatter_of(double *x, double *G, double *u, ptrdiff_t stride, const int *index, const double *z,
                                     const double *es, double C, const double *v, const double *h, ptrdiff_t n, const ptrdiff_t L)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        const ptrdiff_t at = index[j] * stride;
        for (ptrdiff_t l = 0; l < L; l++) {
            const double delta = es[l] * z[j] * h[j * L + l];
            x[at + l] -= delta;
            G[at + l] = v[j * L + l];
            if (u)
                u[at + l] -= C * delta;
        }
    }
}

/* The same for one lane, δ given; x, G and u of a coordinate usually lie side by side. */
ADAREG_INLINE void adareg_scatter_one(double *x, double *G, double *u, ptrdiff_t stride, const int *index, double C, const double *v,
                                      const double *delta, ptrdiff_t n)
{
    if (ADAREG_WIDE && stride == 4 && G == x + 1 && u == x + 2) {
        adareg_scatter_512(x, index, C, v, delta, n);
        return;
    }
    if (u && G == x + 1 && u == x + 2) {
        for (ptrdiff_t j = 0; j < n; j++) {
            double *record = x + index[j] * stride;
            const double moved = record[0] - delta[j], weighed = record[2] - C * delta[j], grown = v[j];
            record[0] = moved;
            record[1] = grown;
            record[2] = weighed;
        }
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        const ptrdiff_t at = index[j] * stride;
        x[at] -= delta[j];
        G[at] = v[j];
        if (u)
            u[at] -= C * delta[j];
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
    else
        adareg_fade_in_of(S, fade, h, f, T, width);
}

/* For a ψ/η given as an expression in v, three loops over numbers that lie in a row: NAME_steps is h = ψ(λ)/η; NAME_flat and
   NAME_single are G += g², x −= η ψ(G) g, u −= C η ψ(G) g, with g and eg = η g as arrays, or with g = s z for one lane; NAME_land is
   how far that goes: v += g², δ = η ψ(v) g. */
#define ADAREG_LOOPS(NAME, PSI)                                                                                        \
    ADAREG_CLONES static void adareg_##NAME##_steps(const double *lam, double *h, ptrdiff_t n)                         \
    {                                                                                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                            \
            const double v = lam[i];                                                                                   \
            h[i] = PSI;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    ADAREG_CLONES static void adareg_##NAME##_flat(adareg_in g, adareg_in eg, double C, adareg_out G, adareg_out x,    \
                                                   adareg_out u, ptrdiff_t n)                                          \
    {                                                                                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                            \
            const double v = G[i] + g[i] * g[i];                                                                       \
            const double delta = eg[i] * (PSI);                                                                        \
            G[i] = v;                                                                                                  \
            x[i] -= delta;                                                                                             \
            if (u)                                                                                                     \
                u[i] -= C * delta;                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    ADAREG_CLONES static void adareg_##NAME##_land(adareg_in z, double s, double es, adareg_out v, adareg_out delta,   \
                                                   ptrdiff_t n)                                                        \
    {                                                                                                                  \
        for (ptrdiff_t j = 0; j < n; j++) {                                                                            \
            const double g = s * z[j], grown = v[j] + g * g;                                                           \
            v[j] = grown;                                                                                              \
            {                                                                                                          \
                const double v = grown;                                                                                \
                delta[j] = es * z[j] * (PSI);                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    ADAREG_CLONES static void adareg_##NAME##_single(adareg_in z, double s, double es, double C, adareg_out G,         \
                                                     adareg_out x, adareg_out u, ptrdiff_t n)                          \
    {                                                                                                                  \
        for (ptrdiff_t j = 0; j < n; j++) {                                                                            \
            const double g = s * z[j], v = G[j] + g * g;                                                               \
            const double delta = es * z[j] * (PSI);                                                                    \
            G[j] = v;                                                                                                  \
            x[j] -= delta;                                                                                             \
            if (u)                                                                                                     \
                u[j] -= C * delta;                                                                                     \
        }                                                                                                              \
    }

/* From those loops: NAME_descend is a whole diagonal round on rows in a row, NAME_records on sparse rows where their coordinates lie, with
   v = G of those, gathered before, and room for as many numbers in h. */
#define ADAREG_ROUNDS(NAME)                                                                                            \
    ADAREG_UNUSED static void adareg_##NAME##_descend(const double *z, const double *s, const double *es, double C,    \
                                                      double *G, double *x, double *u, ptrdiff_t n, ptrdiff_t L)       \
    {                                                                                                                  \
        if (L == 1) {                                                                                                  \
            adareg_##NAME##_single(z, s[0], es[0], C, G, x, u, n);                                                     \
            return;                                                                                                    \
        }                                                                                                              \
        double g[ADAREG_BLOCK], eg[ADAREG_BLOCK];                                                                      \
        for (ptrdiff_t first = 0; first < L; first += ADAREG_BLOCK) { /* more lanes than a block holds: in parts */    \
            const ptrdiff_t lanes = L - first < ADAREG_BLOCK ? L - first : ADAREG_BLOCK;                               \
            const ptrdiff_t most = lanes == L ? ADAREG_BLOCK / L : 1;                                                  \
            for (ptrdiff_t from = 0; from < n; from += most) {                                                         \
                const ptrdiff_t count = n - from < most ? n - from : most;                                             \
                const ptrdiff_t at = from * L + first;                                                                 \
                for (ptrdiff_t j = 0; j < count; j++)                                                                  \
                    for (ptrdiff_t l = 0; l < lanes; l++) {                                                            \
                        g[j * lanes + l] = s[first + l] * z[from + j];                                                 \
                        eg[j * lanes + l] = es[first + l] * z[from + j];                                               \
                    }                                                                                                  \
                adareg_##NAME##_flat(g, eg, C, G + at, x + at, u ? u + at : NULL, count * lanes);                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    ADAREG_UNUSED static void adareg_##NAME##_records(double *x, double *G, double *u, ptrdiff_t stride,               \
                                                      const int *index, const double *z, const double *s,              \
                                                      const double *es, double C, double *v, double *h, ptrdiff_t n,   \
                                                      ptrdiff_t L)                                                     \
    {                                                                                                                  \
        if (L == 1) {                                                                                                  \
            adareg_##NAME##_land(z, s[0], es[0], v, h, n);                                                             \
            adareg_scatter_one(x, G, u, stride, index, C, v, h, n);                                                    \
            return;                                                                                                    \
        }                                                                                                              \
        adareg_square_in(z, s, v, n, L);                                                                               \
        adareg_##NAME##_steps(v, h, n * L);                                                                            \
        if (L == 2) {                                                                                                  \
            const double es2[2] = {es[0], es[1]};                                                                      \
            adareg_scatter_of(x, G, u, stride, index, z, es2, C, v, h, n, 2);                                          \
        } else                                                                                                         \
            adareg_scatter_of(x, G, u, stride, index, z, es, C, v, h, n, L);                                           \
    }

/* 1/√v to a few units in the last place without the divider, which would take most of a round: a guess from the exponent's bits, then four
   Newton steps, each of which doubles the digits. v is finite and at least ε > 0. */
ADAREG_INLINE double adareg_inverse_sqrt(double v)
{
    uint64_t bits;
    double y;
    memcpy(&bits, &v, sizeof bits);
    bits = UINT64_C(0x5FE6EB50C7B537A9) - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    const double half = 0.5 * v;
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    return y * (1.5 - half * y * y);
}

ADAREG_LOOPS(inverse_root_narrow, adareg_inverse_sqrt(v))
ADAREG_LOOPS(inverse, 1.0 / v)
ADAREG_LOOPS(inverse_cube_root, 1.0 / cbrt(v))
ADAREG_LOOPS(inverse_fourth_root, 1.0 / sqrt(sqrt(v)))

ADAREG_UNUSED static void adareg_inverse_root_steps(const double *lam, double *h, ptrdiff_t n)
{
    if (n < 4) /* too few to keep the divider busy, and it answers sooner */
        for (ptrdiff_t i = 0; i < n; i++)
            h[i] = 1.0 / sqrt(lam[i]);
    else if (ADAREG_WIDE)
        adareg_inverse_root_steps_512(lam, h, n);
    else
        adareg_inverse_root_narrow_steps(lam, h, n);
}

ADAREG_UNUSED static void adareg_inverse_root_flat(const double *g, const double *eg, double C, double *G, double *x, double *u,
                                                   ptrdiff_t n)
{
    if (ADAREG_WIDE) {
        adareg_inverse_root_flat_512(g, eg, C, G, x, u, n);
        return;
    }
    adareg_inverse_root_narrow_flat(g, eg, C, G, x, u, n);
}

ADAREG_UNUSED static void adareg_inverse_root_single(const double *z, double s, double es, double C, double *G, double *x,
                                                     double *u, ptrdiff_t n)
{
    if (ADAREG_WIDE) {
        adareg_inverse_root_single_512(z, s, es, C, G, x, u, n);
        return;
    }
    adareg_inverse_root_narrow_single(z, s, es, C, G, x, u, n);
}

ADAREG_UNUSED static void adareg_inverse_root_land(const double *z, double s, double es, double *v, double *delta, ptrdiff_t n)
{
    if (ADAREG_WIDE) {
        adareg_inverse_root_land_512(z, s, es, v, delta, n);
        return;
    }
    adareg_inverse_root_narrow_land(z, s, es, v, delta, n);
}

ADAREG_ROUNDS(inverse_root)
ADAREG_ROUNDS(inverse)
ADAREG_ROUNDS(inverse_cube_root)
ADAREG_ROUNDS(inverse_fourth_root)

#endif
