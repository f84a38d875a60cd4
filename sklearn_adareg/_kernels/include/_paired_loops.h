/* Loops of a diagonal round with two powers side by side: weight vectors take h = λ^(−1/3) or its square. G grows first, then the step is shortened by what
   it does to the margin, then the point moves: two passes over the coordinates. */
#ifndef ADAREG_PAIRED_LOOPS_H
#define ADAREG_PAIRED_LOOPS_H

#include "_fused_loops.h"

/* v^(−1/3) to a few units in the last place: a guess from the exponent's bits, within 4 %, then y (1 − e)^(−1/3) by its series in e = 1 − v y³
   as far as e³, twice. v is finite and at least ε > 0. */
ADAREG_INLINE double adareg_inverse_cbrt(double v)
{
    uint64_t bits;
    double y, e;
    memcpy(&bits, &v, sizeof bits);
    bits = (UINT64_C(1430185000) - (((bits >> 32) * UINT64_C(0x55555556)) >> 32)) << 32;
    memcpy(&y, &bits, sizeof y);
    e = 1.0 - v * y * (y * y);
    y += y * e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81)));
    e = 1.0 - v * y * (y * y);
    return y + y * e * (1.0 / 3 + e * (2.0 / 9 + e * (14.0 / 81)));
}

/* G += g², h = y (1 − fast + fast y) with y = G^(−1/3), for numbers that lie in a row */
ADAREG_CLONES static void adareg_paired_grow_flat(adareg_in g, adareg_in fast, adareg_out G, adareg_out h, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double v = G[i] + g[i] * g[i], y = adareg_inverse_cbrt(v);
        G[i] = v;
        h[i] = y * ((1.0 - fast[i]) + fast[i] * y);
    }
}

/* x −= δ, u −= C δ, δ = eg h */
ADAREG_CLONES static void adareg_paired_step_flat(adareg_in eg, adareg_in h, double C, adareg_out x, adareg_out u, ptrdiff_t n)
{
    if (u)
        for (ptrdiff_t i = 0; i < n; i++) {
            const double delta = eg[i] * h[i];
            x[i] -= delta;
            u[i] -= C * delta;
        }
    else
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] -= eg[i] * h[i];
}

/* lengths_l += Σ_j z_j² h_jl */
ADAREG_CLONES static void adareg_paired_lengths(adareg_in z, adareg_in h, double *lengths, ptrdiff_t n, ptrdiff_t vectors)
{
    if (vectors == 2) {
        double part[8] = {0};
        ptrdiff_t j = 0;
        for (; j + 4 <= n; j += 4)
            for (int k = 0; k < 8; k++)
                part[k] += z[j + k / 2] * z[j + k / 2] * h[2 * j + k];
        for (; j < n; j++)
            for (int k = 0; k < 2; k++)
                part[k] += z[j] * z[j] * h[2 * j + k];
        for (int k = 0; k < 2; k++)
            lengths[k] += (part[k] + part[k + 4]) + (part[k + 2] + part[k + 6]);
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < vectors; l++)
            lengths[l] += z[j] * z[j] * h[j * vectors + l];
}

/* numbers[j·vectors + l] = z_j s_l */
ADAREG_INLINE void adareg_spread(const double *z, const double *s, double *numbers, ptrdiff_t n, ptrdiff_t vectors)
{
    if (vectors == 2) {
        const double one = s[0], other = s[1];
        for (ptrdiff_t j = 0; j < n; j++) {
            numbers[2 * j] = z[j] * one;
            numbers[2 * j + 1] = z[j] * other;
        }
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < vectors; l++)
            numbers[j * vectors + l] = z[j] * s[l];
}

/* A round's first pass, G += (s z)² and h, and how far a step of unit slope takes each margin; `fast` is 0 or 1 per
   weight vector, over and over where a block holds all weight vectors several times. */
ADAREG_UNUSED static void adareg_paired_grow(const double *z, const double *s, const double *fast, double *G, double *h, double *lengths,
                                             ptrdiff_t n, ptrdiff_t L)
{
    double g[ADAREG_BLOCK];
    for (ptrdiff_t l = 0; l < L; l++)
        lengths[l] = 0.0;
    for (ptrdiff_t first = 0; first < L; first += ADAREG_BLOCK) { /* more weight vectors than a block holds: in parts */
        const ptrdiff_t vectors = L - first < ADAREG_BLOCK ? L - first : ADAREG_BLOCK;
        const ptrdiff_t most = vectors == L ? ADAREG_BLOCK / L : 1;
        for (ptrdiff_t from = 0; from < n; from += most) {
            const ptrdiff_t count = n - from < most ? n - from : most, at = from * L + first;
            adareg_spread(z + from, s + first, g, count, vectors);
            adareg_paired_grow_flat(g, fast + first, G + at, h + at, count * vectors);
            adareg_paired_lengths(z + from, h + at, lengths + first, count, vectors);
        }
    }
}

/* The second pass on rows in a row: x −= δ, u −= C δ, δ = (η s) z h */
ADAREG_UNUSED static void adareg_paired_step(const double *z, const double *es, const double *h, double C, double *x, double *u, ptrdiff_t n,
                                             ptrdiff_t L)
{
    double eg[ADAREG_BLOCK];
    for (ptrdiff_t first = 0; first < L; first += ADAREG_BLOCK) {
        const ptrdiff_t vectors = L - first < ADAREG_BLOCK ? L - first : ADAREG_BLOCK;
        const ptrdiff_t most = vectors == L ? ADAREG_BLOCK / L : 1;
        for (ptrdiff_t from = 0; from < n; from += most) {
            const ptrdiff_t count = n - from < most ? n - from : most, at = from * L + first;
            adareg_spread(z + from, es + first, eg, count, vectors);
            adareg_paired_step_flat(eg, h + at, C, x + at, u ? u + at : NULL, count * vectors);
        }
    }
}

/* The same on sparse rows where their coordinates lie, and G = v, which has grown. */
ADAREG_UNUSED static void adareg_paired_scatter(double *x, double *G, double *u, ptrdiff_t stride, const int *index, const double *z,
                                                const double *es, double C, const double *v, const double *h, ptrdiff_t n, ptrdiff_t L)
{
    if (L == 2) {
        const double es2[2] = {es[0], es[1]};
        adareg_scatter_of(x, G, u, stride, index, z, es2, C, v, h, n, 2);
    } else
        adareg_scatter_of(x, G, u, stride, index, z, es, C, v, h, n, L);
}

/* The recent iterate, K numbers of each coordinate, `stride` apart. First its margins, */
ADAREG_INLINE void adareg_recent_dots_of(const double *recent, ptrdiff_t stride, const int *index, const double *z, double *margins, ptrdiff_t n,
                                         const ptrdiff_t K)
{
    for (ptrdiff_t k = 0; k < K; k++)
        margins[k] = 0.0;
    if (index && K == 1) { /* in four sums */
        double part[4] = {0};
        ptrdiff_t j = 0;
        for (; j + 4 <= n; j += 4)
            for (int k = 0; k < 4; k++)
                part[k] += z[j + k] * recent[index[j + k] * stride];
        for (; j < n; j++)
            part[0] += z[j] * recent[index[j] * stride];
        margins[0] = (part[0] + part[1]) + (part[2] + part[3]);
    } else if (index)
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t k = 0; k < K; k++)
                margins[k] += z[j] * recent[index[j] * stride + k];
    else
        for (ptrdiff_t j = 0; j < n; j++)
            for (ptrdiff_t k = 0; k < K; k++)
                margins[k] += z[j] * recent[j * stride + k];
}

ADAREG_CLONES static void adareg_recent_dots(const double *recent, ptrdiff_t stride, const int *index, const double *z, double *margins,
                                             ptrdiff_t n, ptrdiff_t K)
{
    if (K > 1)
        adareg_recent_dots_of(recent, stride, index, z, margins, n, K);
    else if (index)
        adareg_recent_dots_of(recent, stride, index, z, margins, n, 1);
    else { /* in eight sums, the same ones wherever the numbers lie */
        double part[8] = {0};
        ptrdiff_t j = 0;
        if (stride == 1)
            for (; j + 8 <= n; j += 8)
                for (int k = 0; k < 8; k++)
                    part[k] += z[j + k] * recent[j + k];
        else
            for (; j + 8 <= n; j += 8)
                for (int k = 0; k < 8; k++)
                    part[k] += z[j + k] * recent[(j + k) * stride];
        for (; j < n; j++)
            part[0] += z[j] * recent[j * stride];
        margins[0] = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    }
}

/* then its steps, those of the fast weight vectors times `longer` but not beyond `most`, and how far they lead, */
ADAREG_INLINE void adareg_recent_steps_of(adareg_in z, adareg_in h, double longer, double most, adareg_out own, double *lengths, ptrdiff_t n)
{
    double part[8] = {0};
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (int k = 0; k < 8; k++) {
            const double step = longer * h[2 * (j + k) + 1];
            own[j + k] = step < most ? step : most;
            part[k] += z[j + k] * z[j + k] * own[j + k];
        }
    for (; j < n; j++) {
        const double step = longer * h[2 * j + 1];
        own[j] = step < most ? step : most;
        part[0] += z[j] * z[j] * own[j];
    }
    lengths[0] = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

ADAREG_CLONES static void adareg_recent_steps(adareg_in z, adareg_in h, double longer, double most, adareg_out own, double *lengths,
                                              ptrdiff_t n, ptrdiff_t K)
{
    if (K == 1) {
        adareg_recent_steps_of(z, h, longer, most, own, lengths, n);
        return;
    }
    for (ptrdiff_t k = 0; k < K; k++)
        lengths[k] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t k = 0; k < K; k++) {
            const double step = longer * h[(2 * j + 1) * K + k];
            own[j * K + k] = step < most ? step : most;
            lengths[k] += z[j] * z[j] * own[j * K + k];
        }
}

/* and the step. */
ADAREG_CLONES static void adareg_recent_move(double *recent, ptrdiff_t stride, const int *index, const double *z, const double *es, const double *own,
                                             ptrdiff_t n, ptrdiff_t K)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        double *at = recent + (index ? index[j] : j) * stride;
        for (ptrdiff_t k = 0; k < K; k++)
            at[k] -= es[k] * z[j] * own[j * K + k];
    }
}

#endif
