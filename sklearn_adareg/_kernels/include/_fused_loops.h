/* The loops of a diagonal round: a potential's ψ is inlined into them by ADAREG_LOOPS, so that accumulate, precondition, step and
   average are one pass over the coordinates. */
#ifndef ADAREG_FUSED_LOOPS_H
#define ADAREG_FUSED_LOOPS_H

#include "_power_loops.h"

#define ADAREG_BLOCK 128 /* numbers of many vectors that are worked on at a time */

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

/* The same for one weight vector, δ given; x, G and u of a coordinate usually lie side by side. */
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

/* For a ψ/η given as an expression in v, loops over numbers that lie in a row: NAME_flat and
   NAME_single are G += g², x −= η ψ(G) g, u −= C η ψ(G) g, with g and eg = η g as arrays, or with g = s z for one weight vector; NAME_land is
   how far that goes: v += g², δ = η ψ(v) g. */
#define ADAREG_LOOPS(NAME, PSI)                                                                                        \
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
        for (ptrdiff_t first = 0; first < L; first += ADAREG_BLOCK) { /* more weight vectors than a block holds: in parts */    \
            const ptrdiff_t vectors = L - first < ADAREG_BLOCK ? L - first : ADAREG_BLOCK;                               \
            const ptrdiff_t most = vectors == L ? ADAREG_BLOCK / L : 1;                                                  \
            for (ptrdiff_t from = 0; from < n; from += most) {                                                         \
                const ptrdiff_t count = n - from < most ? n - from : most;                                             \
                const ptrdiff_t at = from * L + first;                                                                 \
                for (ptrdiff_t j = 0; j < count; j++)                                                                  \
                    for (ptrdiff_t l = 0; l < vectors; l++) {                                                            \
                        g[j * vectors + l] = s[first + l] * z[from + j];                                                 \
                        eg[j * vectors + l] = es[first + l] * z[from + j];                                               \
                    }                                                                                                  \
                adareg_##NAME##_flat(g, eg, C, G + at, x + at, u ? u + at : NULL, count * vectors);                      \
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

ADAREG_LOOPS(inverse_root_narrow, adareg_inverse_sqrt(v))
ADAREG_LOOPS(inverse, 1.0 / v)
ADAREG_LOOPS(inverse_cube_root, 1.0 / cbrt(v))
ADAREG_LOOPS(inverse_fourth_root, 1.0 / sqrt(sqrt(v)))

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
