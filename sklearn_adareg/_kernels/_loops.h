/* The innermost loops, in C for two things that Cython has no words for: `restrict`, without which every store forces the next
   loads, and function multiversioning, which lets one binary use AVX2 or AVX-512 where the machine has them.

   A potential's ψ is inlined into the loops of a diagonal round by ADAREG_POTENTIAL, so accumulate, precondition, step and
   average are one pass over the coordinates. Lanes (weight vectors that read the row together) lie side by side. */
#ifndef ADAREG_LOOPS_H
#define ADAREG_LOOPS_H

#include <math.h>
#include <stddef.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define ADAREG_CLONES __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512"), unused))
#elif defined(__GNUC__)
#define ADAREG_CLONES __attribute__((unused))
#else
#define ADAREG_CLONES
#endif

#if defined(_MSC_VER)
#define ADAREG_RESTRICT __restrict
#else
#define ADAREG_RESTRICT __restrict__
#endif

typedef const double *ADAREG_RESTRICT adareg_in;
typedef double *ADAREG_RESTRICT adareg_out;

/* Σ a_i b_i in eight partial sums, which become vectors. */
ADAREG_CLONES static double adareg_dot(adareg_in a, adareg_in b, ptrdiff_t n)
{
    double part[8] = {0};
    ptrdiff_t whole = n & ~(ptrdiff_t)7;
    for (ptrdiff_t j = 0; j < whole; j += 8)
        for (int k = 0; k < 8; k++)
            part[k] += a[j + k] * b[j + k];
    for (ptrdiff_t j = whole; j < n; j++)
        part[j & 7] += a[j] * b[j];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

/* m_l = Σ_j z_j x_jl */
ADAREG_CLONES static void adareg_lane_dots(adareg_in z, adareg_in x, adareg_out m, ptrdiff_t n, ptrdiff_t L)
{
    for (ptrdiff_t l = 0; l < L; l++)
        m[l] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < L; l++)
            m[l] += z[j] * x[j * L + l];
}

/* y += a x */
ADAREG_CLONES static void adareg_axpy(double a, adareg_in x, adareg_out y, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* G += g², g = s z */
ADAREG_CLONES static void adareg_square_in(adareg_in z, adareg_in s, adareg_out G, ptrdiff_t n, ptrdiff_t L)
{
    if (L == 1) {
        const double slope = s[0];
        for (ptrdiff_t j = 0; j < n; j++)
            G[j] += (z[j] * slope) * (z[j] * slope);
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t l = 0; l < L; l++)
            G[j * L + l] += (z[j] * s[l]) * (z[j] * s[l]);
}

/* x −= h g for one step h a lane (hs = h s), and the average's accumulator along with it */
ADAREG_CLONES static void adareg_scaled_step(adareg_in z, adareg_in hs, double C, adareg_out x, adareg_out u, ptrdiff_t n,
                                             ptrdiff_t L)
{
    if (L == 1) {
        const double step = hs[0], weighed = C * hs[0];
        for (ptrdiff_t j = 0; j < n; j++)
            x[j] -= step * z[j];
        if (u)
            for (ptrdiff_t j = 0; j < n; j++)
                u[j] -= weighed * z[j];
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

/* For a ψ/η given as an expression in v: NAME_steps is h = ψ(λ)/η; NAME_descend is a whole diagonal round,
   G += g², x −= η ψ(G) g, u −= C η ψ(G) g, with g = s z and es = η s. */
#define ADAREG_POTENTIAL(NAME, PSI)                                                                                    \
    ADAREG_CLONES static void adareg_##NAME##_steps(const double *lam, double *h, ptrdiff_t n)                        \
    {                                                                                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                            \
            const double v = lam[i];                                                                                   \
            h[i] = PSI;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    ADAREG_CLONES static void adareg_##NAME##_descend(adareg_in z, adareg_in s, adareg_in es, double C, adareg_out G,  \
                                                      adareg_out x, adareg_out u, ptrdiff_t n, ptrdiff_t L)            \
    {                                                                                                                  \
        if (L == 1 && u) {                                                                                             \
            const double slope = s[0], step = es[0];                                                                   \
            for (ptrdiff_t j = 0; j < n; j++) {                                                                        \
                const double g = slope * z[j], v = G[j] + g * g;                                                       \
                const double delta = step * z[j] * (PSI);                                                              \
                G[j] = v;                                                                                              \
                x[j] -= delta;                                                                                         \
                u[j] -= C * delta;                                                                                     \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (ptrdiff_t j = 0; j < n; j++)                                                                              \
            for (ptrdiff_t l = 0; l < L; l++) {                                                                        \
                const double g = s[l] * z[j], v = G[j * L + l] + g * g;                                                \
                const double delta = es[l] * z[j] * (PSI);                                                             \
                G[j * L + l] = v;                                                                                      \
                x[j * L + l] -= delta;                                                                                 \
                if (u)                                                                                                 \
                    u[j * L + l] -= C * delta;                                                                         \
            }                                                                                                          \
    }

ADAREG_POTENTIAL(inverse_root, 1.0 / sqrt(v))
ADAREG_POTENTIAL(inverse, 1.0 / v)
ADAREG_POTENTIAL(inverse_cube_root, 1.0 / cbrt(v))
ADAREG_POTENTIAL(inverse_fourth_root, 1.0 / sqrt(sqrt(v)))

#endif
