/* Symmetric positive definite matrices of 16 rows on machines with AVX-512: whether they are that, and their eigenvalues and eigenvectors.

   One-sided Jacobi: with A = MᵀM, rotations of pairs of rows of M make the rows orthogonal and leave MᵀM as it is; then they are
   √λ_i v_iᵀ. Rows meet in the order of Brent and Luk, eight disjoint pairs at a time, whose angles fill one vector; 15 steps are a sweep.
   M comes from the Cholesky factor of A in an older eigenbasis, in which it is nearly diagonal. The tridiagonal QL steps of _eigen_loops.h,
   which serve where this gives up, take twice as long. */
#ifndef ADAREG_JACOBI_LOOPS_H
#define ADAREG_JACOBI_LOOPS_H

#include "_eigen_loops.h"
#include "_matrix_loops.h"

#if ADAREG_EIGHTS
/* Elimination in registers: A is three tiles of eight rows, the fourth is the second's mirror image. Where U is not null, it becomes the
   Cholesky factor, A = UᵀU. Whether A is positive definite. */
ADAREG_EIGHT_INLINE int adareg_eliminate(const double *A, double *U)
{
    adareg_eight first[8], beside[8], last[8];
    const adareg_order from = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < 8; i++) {
        first[i] = ADAREG_EIGHT(A + 16 * i);
        beside[i] = ADAREG_EIGHT(A + 16 * i + 8);
        last[i] = ADAREG_EIGHT(A + 16 * (8 + i) + 8);
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const double pivot = first[j][j];
        if (!(pivot > 0.0))
            return 0;
        const double inverse = 1.0 / pivot;
        const adareg_eight factor = inverse * first[j], factor_beside = inverse * beside[j];
        if (U) {
            const double root = sqrt(inverse);
            ADAREG_EIGHT(U + 16 * j) = (adareg_eight)((adareg_order)(root * first[j]) & (from >= j));
            ADAREG_EIGHT(U + 16 * j + 8) = root * beside[j];
        }
#pragma GCC unroll 8
        for (int i = j + 1; i < 8; i++) {
            beside[i] -= factor[i] * beside[j];
            first[i] -= factor[i] * first[j];
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            last[i] -= factor_beside[i] * beside[j];
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const double pivot = last[j][j];
        if (!(pivot > 0.0))
            return 0;
        const double inverse = 1.0 / pivot;
        const adareg_eight factor = inverse * last[j];
        if (U) {
            ADAREG_EIGHT(U + 16 * (8 + j)) = (adareg_eight){0};
            ADAREG_EIGHT(U + 16 * (8 + j) + 8) = (adareg_eight)((adareg_order)(sqrt(inverse) * last[j]) & (from >= j));
        }
#pragma GCC unroll 8
        for (int i = j + 1; i < 8; i++)
            last[i] -= factor[i] * last[j];
    }
    return 1;
}

ADAREG_EIGHT_LOOP int adareg_is_definite_512(const double *A)
{
    return adareg_eliminate(A, NULL);
}

/* C = A B */
ADAREG_EIGHT_INLINE void adareg_times_16(const double *A, const double *B, double *C)
{
    for (int i = 0; i < 16; i += 4) {
        adareg_eight sum[4][2];
        for (int r = 0; r < 4; r++)
            sum[r][0] = sum[r][1] = (adareg_eight){0};
        for (int k = 0; k < 16; k++)
            for (int r = 0; r < 4; r++) {
                sum[r][0] += A[16 * (i + r) + k] * ADAREG_EIGHT(B + 16 * k);
                sum[r][1] += A[16 * (i + r) + k] * ADAREG_EIGHT(B + 16 * k + 8);
            }
        for (int r = 0; r < 4; r++) {
            ADAREG_EIGHT(C + 16 * (i + r)) = sum[r][0];
            ADAREG_EIGHT(C + 16 * (i + r) + 8) = sum[r][1];
        }
    }
}

/* M of A = MᵀM, with the rows of V as the older basis; whether there is one. work: 512 numbers */
ADAREG_EIGHT_LOOP int adareg_begin_jacobi(const double *A, const double *V, double *M, double *work)
{
    double *turned = work + 256;
    adareg_times_16(V, A, work);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            turned[16 * j + i] = work[16 * i + j];
    adareg_times_16(V, turned, work);
    if (!adareg_eliminate(work, turned))
        return 0;
    adareg_times_16(turned, V, M);
    return 1;
}

/* Squared lengths of eight rows, from the last to the first where step is −1. */
ADAREG_EIGHT_INLINE adareg_eight adareg_lengths(const double *M, int first, int step)
{
    adareg_eight part[8];
    for (int k = 0; k < 8; k++) {
        const double *row = M + 16 * (first + step * k);
        part[k] = ADAREG_EIGHT(row) * ADAREG_EIGHT(row) + ADAREG_EIGHT(row + 8) * ADAREG_EIGHT(row + 8);
    }
    return adareg_eight_sums(part);
}

/* 1/√v to 14 bits and three powers of what is missing, as in _loops_avx512.h */
ADAREG_EIGHT_INLINE __m512d adareg_inverse_root_of_eight(__m512d v)
{
    const __m512d y = _mm512_rsqrt14_pd(v), e = _mm512_fnmadd_pd(_mm512_mul_pd(v, y), y, _mm512_set1_pd(1.0));
    const __m512d p = _mm512_fmadd_pd(e, _mm512_set1_pd(5.0 / 16), _mm512_set1_pd(3.0 / 8));
    return _mm512_fmadd_pd(_mm512_mul_pd(y, e), _mm512_fmadd_pd(e, p, _mm512_set1_pd(1.0 / 2)), y);
}

static const ptrdiff_t adareg_ring[30] = {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240,
                                           16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240};

/* One step of a sweep: the pairs that were not orthogonal, a bit each. top and bottom: the squared lengths of the rows that meet. */
ADAREG_EIGHT_INLINE int adareg_jacobi_step(double *M, int step, adareg_eight *top, adareg_eight *bottom)
{
    const adareg_order next_top = {0, 8, 1, 2, 3, 4, 5, 6}, next_bottom = {9, 10, 11, 12, 13, 14, 15, 7};
    double *one[8], *two[8];
    adareg_eight part[8];
    for (int k = 0; k < 8; k++) { /* the first row stays, the others go round */
        one[k] = k == 0 ? M : M + adareg_ring[14 + k - step];
        two[k] = M + adareg_ring[29 - k - step];
        part[k] = ADAREG_EIGHT(one[k]) * ADAREG_EIGHT(two[k]) + ADAREG_EIGHT(one[k] + 8) * ADAREG_EIGHT(two[k] + 8);
    }
    const __m512d a = (__m512d)*top, b = (__m512d)*bottom, inner = (__m512d)adareg_eight_sums(part);
    const __m512d twice = _mm512_add_pd(inner, inner), square = _mm512_mul_pd(twice, twice), apart = _mm512_sub_pd(b, a);
    const __m512d bound = _mm512_mul_pd(_mm512_mul_pd(a, b), _mm512_set1_pd(0x1p-88)); /* orthogonal to 2^−45 */
    const __mmask8 turn = _mm512_cmp_pd_mask(square, bound, _CMP_GT_OQ);
    __m512d t = _mm512_setzero_pd(); /* the tangent */
    if (turn) {
        double cosine[8], sine[8];
        const __m512d half = _mm512_set1_pd(0.5), sign = _mm512_and_pd(apart, _mm512_set1_pd(-0.0));
        const __m512d w = adareg_inverse_root_of_eight(_mm512_fmadd_pd(apart, apart, square));
        const __m512d c_squared = _mm512_fmadd_pd(half, _mm512_mul_pd(_mm512_abs_pd(apart), w), half); /* (1 + cos 2θ) / 2 */
        const __m512d half_sine = _mm512_mul_pd(_mm512_mul_pd(half, _mm512_xor_pd(twice, sign)), w);   /* (sin 2θ) / 2 */
        const __m512d inverse = adareg_inverse_root_of_eight(c_squared), s = _mm512_maskz_mul_pd(turn, half_sine, inverse);
        t = _mm512_maskz_mul_pd(turn, s, inverse);
        _mm512_storeu_pd(cosine, _mm512_mask_mul_pd(_mm512_set1_pd(1.0), turn, c_squared, inverse));
        _mm512_storeu_pd(sine, s);
        for (int k = 0; k < 8; k++)
            for (int h = 0; h < 16; h += 8) {
                const adareg_eight x_row = ADAREG_EIGHT(one[k] + h), y_row = ADAREG_EIGHT(two[k] + h);
                ADAREG_EIGHT(one[k] + h) = cosine[k] * x_row - sine[k] * y_row;
                ADAREG_EIGHT(two[k] + h) = sine[k] * x_row + cosine[k] * y_row;
            }
    }
    const adareg_eight new_a = (adareg_eight)_mm512_fnmadd_pd(t, inner, a), new_b = (adareg_eight)_mm512_fmadd_pd(t, inner, b);
    *top = __builtin_shuffle(new_a, new_b, next_top);
    *bottom = __builtin_shuffle(new_a, new_b, next_bottom);
    return turn;
}

/* What adareg_eigen_near says, of 16 rows; 1 if A has to be decomposed otherwise, and is as it was. */
ADAREG_EIGHT_LOOP int adareg_jacobi_512(double *A, const double *V, double *d, double *work)
{
    double *M = work + 512, least = A[0], most = A[0];
    for (int i = 1; i < 16; i++) {
        const double a = A[17 * i];
        least = a < least ? a : least;
        most = a > most ? a : most;
    }
    if (!(least > 0x1p-200 && most < 0x1p200) || !adareg_begin_jacobi(A, V, M, work)) /* no square over- or underflows */
        return 1;
    for (int sweep = 0, turned = 1; turned; sweep++) {
        adareg_eight top = adareg_lengths(M, 0, 1), bottom = adareg_lengths(M, 15, -1);
        if (sweep == 20)
            return 1;
        turned = 0;
        for (int step = 0; step < 15; step++)
            turned |= adareg_jacobi_step(M, step, &top, &bottom);
    }
    ADAREG_EIGHT(d) = adareg_lengths(M, 0, 1);
    ADAREG_EIGHT(d + 8) = adareg_lengths(M, 8, 1);
    for (int k = 0; k < 16; k++)
        if (!(d[k] > 0x1p-300))
            return 1;
    for (int k = 0; k < 16; k++) {
        const double by = 1.0 / sqrt(d[k]);
        ADAREG_EIGHT(A + 16 * k) = by * ADAREG_EIGHT(M + 16 * k);
        ADAREG_EIGHT(A + 16 * k + 8) = by * ADAREG_EIGHT(M + 16 * k + 8);
    }
    return 0;
}
#endif

/* M = a A − (B + g gᵀ), n × n */
ADAREG_CLONES static void adareg_less_square(double a, adareg_in A, adareg_in B, adareg_in g, adareg_out M, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            M[i * n + j] = a * A[i * n + j] - (B[i * n + j] + g[i] * g[j]);
}

/* Whether A, symmetric with both triangles, is positive definite; A is lost. */
ADAREG_UNUSED static int adareg_definite(double *A, ptrdiff_t n)
{
#if ADAREG_EIGHTS
    if (n == 16 && adareg_by_eights(n))
        return adareg_is_definite_512(A);
#endif
    return adareg_is_definite(A, n);
}

/* A, symmetric with both triangles, becomes its eigenvectors, one per row, and d their eigenvalues, in no order. The rows of V are a basis
   in which it is nearly diagonal (null: none is known). work: n numbers, 768 where n is 16. 0, or 1 if none was found. */
ADAREG_UNUSED static int adareg_eigen_near(double *A, const double *V, double *d, double *work, ptrdiff_t n)
{
#if ADAREG_EIGHTS
    if (V && n == 16 && adareg_by_eights(n) && !adareg_jacobi_512(A, V, d, work))
        return 0;
#endif
    (void)V;
    return adareg_small_eigen(A, d, work, n);
}

#endif
