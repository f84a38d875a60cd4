/* Steps h = ψ(λ)/η of the built-in potentials, which are powers of λ, for numbers that lie in a row. */
#ifndef ADAREG_POWER_LOOPS_H
#define ADAREG_POWER_LOOPS_H

#include "_loops.h"
#include "_loops_avx512.h"

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

/* For a ψ/η given as an expression in v, NAME_steps is h = ψ(λ)/η. */
#define ADAREG_STEPS(NAME, PSI)                                                                                        \
    ADAREG_CLONES static void adareg_##NAME##_steps(const double *lam, double *h, ptrdiff_t n)                         \
    {                                                                                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                            \
            const double v = lam[i];                                                                                   \
            h[i] = PSI;                                                                                                \
        }                                                                                                              \
    }

ADAREG_STEPS(inverse_root_narrow, adareg_inverse_sqrt(v))
ADAREG_STEPS(inverse, 1.0 / v)
ADAREG_STEPS(inverse_cube_root, 1.0 / cbrt(v))
ADAREG_STEPS(inverse_fourth_root, 1.0 / sqrt(sqrt(v)))

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

#endif
