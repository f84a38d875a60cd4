/* Symmetric matrices of 16 rows by their cyclic diagonals: S is d_k[i] = S[i, (i + k) mod 16] for k = 0 … 8, 144 numbers instead of
   256, so that those of 480 coordinates stay in the nearest cache, and no number is written twice. With (R_k x)[i] = x[(i + k) mod 16],

       S x = Σ_{k=0..8} d_k · R_k x + Σ_{k=1..7} R_{−k}(d_k · x),      (S − w v vᵀ)_k = d_k − w v · R_k v.

   Both are whole vectors of eight numbers, which AVX-512 turns in one instruction. */
#ifndef ADAREG_CYCLIC_LOOPS_H
#define ADAREG_CYCLIC_LOOPS_H

#include "_matrix_loops.h"

#define ADAREG_CYCLIC 16
#define ADAREG_CYCLIC_SIZE 144

ADAREG_UNUSED static void adareg_to_cyclic(const double *S, double *d)
{
    for (int k = 0; k <= 8; k++)
        for (int i = 0; i < 16; i++)
            d[16 * k + i] = S[16 * i + ((i + k) & 15)];
}

ADAREG_UNUSED static void adareg_from_cyclic(const double *d, double *S)
{
    for (int k = 0; k <= 8; k++)
        for (int i = 0; i < 16; i++)
            S[16 * i + ((i + k) & 15)] = S[16 * ((i + k) & 15) + i] = d[16 * k + i];
}

/* Whether matrices of n rows are held so. */
ADAREG_INLINE int adareg_cyclic(ptrdiff_t n)
{
    return n == ADAREG_CYCLIC && adareg_by_eights(n);
}

#if ADAREG_EIGHTS
/* The eight numbers from the k-th on of sixteen, and around. */
#define ADAREG_TURNED(low, high, k) \
    ((adareg_eight)_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512((__m512d)(high)), _mm512_castpd_si512((__m512d)(low)), k)))

/* One k of the sums, the second of them by Horner's rule from k = 7 down. */
#define ADAREG_CYCLIC_TERM(k, low, high)                                                                               \
    {                                                                                                                  \
        const adareg_eight a = ADAREG_EIGHT(d + 16 * k), b = ADAREG_EIGHT(d + 16 * k + 8);                             \
        const adareg_eight back = ADAREG_TURNED(high_back, low_back, 7);                                               \
        high_back = b * x[1] + ADAREG_TURNED(low_back, high_back, 7);                                                  \
        low_back = a * x[0] + back;                                                                                    \
        low += a * ADAREG_TURNED(x[0], x[1], k);                                                                       \
        high += b * ADAREG_TURNED(x[1], x[0], k);                                                                      \
    }

/* y = S x */
ADAREG_EIGHT_INLINE void adareg_cyclic_times(const double *d, const adareg_eight *x, adareg_eight *y)
{
    adareg_eight low = ADAREG_EIGHT(d) * x[0], high = ADAREG_EIGHT(d + 8) * x[1];
    adareg_eight low_too = ADAREG_EIGHT(d + 128) * x[1], high_too = ADAREG_EIGHT(d + 136) * x[0];
    adareg_eight low_back = ADAREG_EIGHT(d + 112) * x[0], high_back = ADAREG_EIGHT(d + 120) * x[1];
    low += ADAREG_EIGHT(d + 112) * ADAREG_TURNED(x[0], x[1], 7);
    high += ADAREG_EIGHT(d + 120) * ADAREG_TURNED(x[1], x[0], 7);
    ADAREG_CYCLIC_TERM(6, low_too, high_too)
    ADAREG_CYCLIC_TERM(5, low, high)
    ADAREG_CYCLIC_TERM(4, low_too, high_too)
    ADAREG_CYCLIC_TERM(3, low, high)
    ADAREG_CYCLIC_TERM(2, low_too, high_too)
    ADAREG_CYCLIC_TERM(1, low, high)
    y[0] = (low + low_too) + ADAREG_TURNED(high_back, low_back, 7);
    y[1] = (high + high_too) + ADAREG_TURNED(low_back, high_back, 7);
}

#define ADAREG_CYCLIC_LESS(k)                                                                                          \
    ADAREG_EIGHT(d + 16 * k) -= w[0] * ADAREG_TURNED(v[0], v[1], k);                                                   \
    ADAREG_EIGHT(d + 16 * k + 8) -= w[1] * ADAREG_TURNED(v[1], v[0], k);

/* S −= weight v vᵀ */
ADAREG_EIGHT_INLINE void adareg_cyclic_less(double weight, const adareg_eight *v, double *d)
{
    const adareg_eight w[2] = {weight * v[0], weight * v[1]};
    ADAREG_EIGHT(d) -= w[0] * v[0];
    ADAREG_EIGHT(d + 8) -= w[1] * v[1];
    ADAREG_CYCLIC_LESS(1)
    ADAREG_CYCLIC_LESS(2)
    ADAREG_CYCLIC_LESS(3)
    ADAREG_CYCLIC_LESS(4)
    ADAREG_CYCLIC_LESS(5)
    ADAREG_CYCLIC_LESS(6)
    ADAREG_CYCLIC_LESS(7)
    ADAREG_EIGHT(d + 136) = ADAREG_EIGHT(d + 128) -= weight * (v[0] * v[1]); /* the same eight numbers twice */
}

ADAREG_EIGHT_LOOP void adareg_cyclic_product_512(const double *d, const double *x, double *y)
{
    const adareg_eight from[2] = {ADAREG_EIGHT(x), ADAREG_EIGHT(x + 8)};
    adareg_eight to[2];
    adareg_cyclic_times(d, from, to);
    ADAREG_EIGHT(y) = to[0];
    ADAREG_EIGHT(y + 8) = to[1];
}
#endif

/* y = S x, for an S that is held so */
ADAREG_UNUSED static void adareg_cyclic_product(const double *d, const double *x, double *y)
{
#if ADAREG_EIGHTS
    adareg_cyclic_product_512(d, x, y);
#else
    (void)d, (void)x, (void)y;
#endif
}

#endif
