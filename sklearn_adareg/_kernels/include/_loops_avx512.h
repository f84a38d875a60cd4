/* Loops of _loops.h for machines with AVX-512, written out because of vrsqrt14pd, which no compiler takes by itself: 14 bits of
   1/√v in the time of an addition or two. With e = 1 − v y² of that guess y, 1/√v = y (1 − e)^(−1/2), and e³ is the last power
   that counts. Four numbers at a time: with eight, which these machines have too, the scalar code between two short rows runs
   so much slower that more is lost than won.

   Tails are masked, and a masked store serves no load before it is done: dense rows of one weight vector have none, because their arrays are
   padded to whole vectors. */
#ifndef ADAREG_LOOPS_AVX512_H
#define ADAREG_LOOPS_AVX512_H

static int adareg_narrow = 0;

/* Keep from these loops, or no longer; returns what held before. */
ADAREG_UNUSED static int adareg_stay_narrow(int wish)
{
    const int before = adareg_narrow;
    adareg_narrow = wish;
    return before;
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#define ADAREG_WIDE (!adareg_narrow && __builtin_cpu_supports("avx512vl"))
#define ADAREG_AVX512 __attribute__((target("avx512f,avx512vl,fma"), unused)) static

ADAREG_AVX512 inline __mmask8 adareg_first(ptrdiff_t count)
{
    return (__mmask8)(count >= 4 ? 0x0F : (1u << count) - 1u);
}

ADAREG_AVX512 inline __m256d adareg_inverse_sqrt_512(__m256d v)
{
    const __m256d y = _mm256_maskz_rsqrt14_pd(0x0F, v);
    const __m256d e = _mm256_fnmadd_pd(_mm256_mul_pd(v, y), y, _mm256_set1_pd(1.0));
    const __m256d p = _mm256_fmadd_pd(e, _mm256_set1_pd(5.0 / 16), _mm256_set1_pd(3.0 / 8));
    return _mm256_fmadd_pd(_mm256_mul_pd(y, e), _mm256_fmadd_pd(e, p, _mm256_set1_pd(1.0 / 2)), y);
}

ADAREG_AVX512 void adareg_inverse_root_steps_512(const double *lam, double *h, ptrdiff_t n)
{
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(h + i, adareg_inverse_sqrt_512(_mm256_loadu_pd(lam + i)));
    if (i < n) {
        const __mmask8 some = adareg_first(n - i);
        _mm256_mask_storeu_pd(h + i, some, adareg_inverse_sqrt_512(_mm256_maskz_loadu_pd(some, lam + i)));
    }
}

ADAREG_AVX512 void adareg_inverse_root_land_512(const double *z, double s, double es, double *v, double *delta, ptrdiff_t n)
{
    const __m256d slope = _mm256_set1_pd(s), step = _mm256_set1_pd(es);
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const __m256d of = _mm256_loadu_pd(z + j), g = _mm256_mul_pd(slope, of);
        const __m256d grown = _mm256_fmadd_pd(g, g, _mm256_loadu_pd(v + j));
        _mm256_storeu_pd(v + j, grown);
        _mm256_storeu_pd(delta + j, _mm256_mul_pd(_mm256_mul_pd(step, of), adareg_inverse_sqrt_512(grown)));
    }
    for (; j < n; j++) {
        const double g = s * z[j];
        v[j] += g * g;
        delta[j] = es * z[j] / sqrt(v[j]);
    }
}

/* Records (x, G, u, and a number that stays): x −= δ, G = v, u −= C δ, a vector each */
ADAREG_AVX512 void adareg_scatter_512(double *records, const int *index, double C, const double *v, const double *delta, ptrdiff_t n)
{
    const __m256d by = _mm256_setr_pd(1.0, 0.0, C, 0.0);
    for (ptrdiff_t j = 0; j < n; j++) {
        double *record = records + 4 * (ptrdiff_t)index[j];
        const __m256d moved = _mm256_fnmadd_pd(by, _mm256_set1_pd(delta[j]), _mm256_loadu_pd(record));
        _mm256_storeu_pd(record, _mm256_blend_pd(moved, _mm256_broadcast_sd(v + j), 2));
    }
}

/* v = G + g², δ = (η g) ψ(v), on some of four coordinates */
ADAREG_AVX512 inline __attribute__((always_inline)) void adareg_descend_512(__m256d g, __m256d eg, __m256d C, double *G, double *x,
                                                                            double *u, __mmask8 some)
{
    const __m256d v = _mm256_fmadd_pd(g, g, _mm256_maskz_loadu_pd(some, G));
    const __m256d delta = _mm256_mul_pd(eg, adareg_inverse_sqrt_512(v));
    _mm256_mask_storeu_pd(x, some, _mm256_sub_pd(_mm256_maskz_loadu_pd(some, x), delta));
    _mm256_mask_storeu_pd(G, some, v);
    if (u)
        _mm256_mask_storeu_pd(u, some, _mm256_fnmadd_pd(C, delta, _mm256_maskz_loadu_pd(some, u)));
}

ADAREG_AVX512 void adareg_inverse_root_flat_512(const double *g, const double *eg, double C, double *G, double *x, double *u,
                                                ptrdiff_t n)
{
    const __m256d weight = _mm256_set1_pd(C);
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4)
        adareg_descend_512(_mm256_loadu_pd(g + i), _mm256_loadu_pd(eg + i), weight, G + i, x + i, u ? u + i : NULL, 0x0F);
    if (i < n) {
        const __mmask8 some = adareg_first(n - i);
        adareg_descend_512(_mm256_maskz_loadu_pd(some, g + i), _mm256_maskz_loadu_pd(some, eg + i), weight, G + i, x + i,
                           u ? u + i : NULL, some);
    }
}

ADAREG_AVX512 void adareg_inverse_root_single_512(const double *z, double s, double es, double C, double *G, double *x, double *u,
                                                  ptrdiff_t n)
{
    const __m256d weight = _mm256_set1_pd(C), slope = _mm256_set1_pd(s), step = _mm256_set1_pd(es);
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const __m256d of = _mm256_loadu_pd(z + j);
        adareg_descend_512(_mm256_mul_pd(slope, of), _mm256_mul_pd(step, of), weight, G + j, x + j, u ? u + j : NULL, 0x0F);
    }
    if (j < n) {
        const __mmask8 some = adareg_first(n - j);
        const __m256d of = _mm256_maskz_loadu_pd(some, z + j);
        adareg_descend_512(_mm256_mul_pd(slope, of), _mm256_mul_pd(step, of), weight, G + j, x + j, u ? u + j : NULL, some);
    }
}

#else
#define ADAREG_WIDE adareg_narrow * 0
#define adareg_inverse_root_steps_512(lam, h, n)
#define adareg_inverse_root_land_512(z, s, es, v, delta, n)
#define adareg_scatter_512(records, index, C, v, delta, n)
#define adareg_inverse_root_flat_512(g, eg, C, G, x, u, n)
#define adareg_inverse_root_single_512(z, s, es, C, G, x, u, n)
#endif

#endif
