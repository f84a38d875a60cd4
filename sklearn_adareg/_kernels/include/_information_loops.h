/* The loops of sums over rows, and of candidates that read a row together.

   What a row says does not depend on how many rows are read at once: each sum goes over its terms in their order. */
#ifndef ADAREG_INFORMATION_LOOPS_H
#define ADAREG_INFORMATION_LOOPS_H

#include "_loops.h"

/* m_v = Σ_i z_i x_iv of n rows of Z, for the first ``lanes`` of V weight vectors that lie side by side; a multiple of 4. */
ADAREG_CLONES static void adareg_margins(adareg_in Z, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t D, adareg_in x, ptrdiff_t V,
                                         ptrdiff_t lanes, adareg_out m)
{
    for (ptrdiff_t s = 0; s < n; s++) {
        adareg_in z = Z + s * stride;
        double *ADAREG_RESTRICT out = m + s * V;
        ptrdiff_t v = 0;
        for (; v + 8 <= lanes; v += 8) {
            double part[8] = {0};
            for (ptrdiff_t i = 0; i < D; i++)
                for (int k = 0; k < 8; k++)
                    part[k] += z[i] * x[i * V + v + k];
            for (int k = 0; k < 8; k++)
                out[v + k] = part[k];
        }
        for (; v < lanes; v += 4) {
            double part[4] = {0};
            for (ptrdiff_t i = 0; i < D; i++)
                for (int k = 0; k < 4; k++)
                    part[k] += z[i] * x[i * V + v + k];
            for (int k = 0; k < 4; k++)
                out[v + k] = part[k];
        }
    }
}

/* The same of one sparse row. */
ADAREG_CLONES static void adareg_sparse_margins(adareg_in z, const int *index, ptrdiff_t n, adareg_in x, ptrdiff_t V, adareg_out m)
{
    for (ptrdiff_t v = 0; v < V; v++)
        m[v] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t v = 0; v < V; v++)
            m[v] += z[j] * x[index[j] * V + v];
}

/* G += Σ_s a_si b_sj over n rows, from the column of i's first tile on: all of G where it is a product of two, the upper triangle and
   what a tile takes below it where b is a multiple of a. D is a multiple of 8; A, B and G have rows of D. */
ADAREG_CLONES static void adareg_add_products(adareg_in A, adareg_in B, ptrdiff_t n, ptrdiff_t D, double *G, ptrdiff_t ldg, int upper)
{
    for (ptrdiff_t i = 0; i < D; i += 4)
        for (ptrdiff_t j = upper ? i - i % 8 : 0; j < D; j += 8) {
            double part[4][8] = {{0}};
            for (ptrdiff_t s = 0; s < n; s++) {
                adareg_in a = A + s * D + i, b = B + s * D + j;
                for (int p = 0; p < 4; p++)
                    for (int q = 0; q < 8; q++)
                        part[p][q] += a[p] * b[q];
            }
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 8; q++)
                    G[(i + p) * ldg + j + q] += part[p][q];
        }
}

/* Z = V − c of n rows with 1 behind the d values, as wide as V; zeros follow. */
ADAREG_CLONES static void adareg_centre(adareg_in V, adareg_in c, ptrdiff_t n, ptrdiff_t D, adareg_out Z)
{
    for (ptrdiff_t s = 0; s < n; s++)
        for (ptrdiff_t i = 0; i < D; i++)
            Z[s * D + i] = V[s * D + i] - c[i];
}

/* z = min(max(v, low), high) */
ADAREG_CLONES static void adareg_limit(adareg_in v, adareg_in low, adareg_in high, ptrdiff_t n, adareg_out z)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double raised = v[i] > low[i] ? v[i] : low[i];
        z[i] = raised < high[i] ? raised : high[i];
    }
}

/* e^x for x ≤ 0, 0 below −700: a polynomial of degree 11 on [−ln 2 / 2, ln 2 / 2], one unit in the last place. No branch, so that
   several are computed at once. */
ADAREG_INLINE double adareg_exp_of_negative(double x)
{
    union {
        double real;
        uint64_t bits;
    } shifted, power;
    const double least = x > -700.0 ? x : -700.0;
    shifted.real = least * 1.4426950408889634 + 6755399441055744.0;
    const double k = shifted.real - 6755399441055744.0;
    const double r = (least - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    power.bits = (shifted.bits << 52) + 0x3ff0000000000000u;
    const double r2 = r * r, r4 = r2 * r2;
    const double a = (1.0 + r) + r2 * (0.5 + r * 0.16666666666666666);
    const double b = (0.041666666666666664 + r * 0.008333333333333333) + r2 * (0.001388888888888889 + r * 0.0001984126984126984);
    const double c = (2.48015873015873e-05 + r * 2.7557319223985893e-06) + r2 * (2.755731922398589e-07 + r * 2.505210838544172e-08);
    return (a + r4 * (b + r4 * c)) * power.real;
}

ADAREG_INLINE double adareg_log1p_inline(double e)
{
    const double s = e / (2.0 + e), w = s * s, w2 = w * w, w4 = w2 * w2;
    const double a = (1.0 + w * 0.33333333333341286) + w2 * (0.199999999976438 + w * 0.1428571455582858);
    const double b = (0.11111095430673142 + w * 0.09091429900236955) + w2 * (0.07681838124445817 + w * 0.06795652742789947);
    const double c = 0.04940394524382393 + w * 0.08890381913056651;
    return 2.0 * s * (a + w4 * (b + w4 * c));
}

/* The losses log(1 + e^(−y m)) of n margins. */
ADAREG_CLONES static void adareg_log_losses(adareg_in m, double y, ptrdiff_t n, adareg_out loss)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        const double a = y * m[k], size = a < 0.0 ? -a : a;
        loss[k] = adareg_log1p_inline(adareg_exp_of_negative(-size)) + 0.5 * (size - a);
    }
}

/* Probabilities of y = 1 at n margins. */
ADAREG_CLONES static void adareg_probabilities(adareg_in m, ptrdiff_t n, ptrdiff_t stride, adareg_out p)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        const double a = m[k * stride], e = adareg_exp_of_negative(a < 0.0 ? a : -a);
        p[k] = (a < 0.0 ? e : 1.0) / (1.0 + e);
    }
}

/* The probabilities of C classes at margins m, and the loss of class y. */
ADAREG_CLONES static double adareg_softmax(adareg_in m, ptrdiff_t C, ptrdiff_t y, adareg_out p)
{
    double most = m[0], total = 0.0;
    for (ptrdiff_t c = 1; c < C; c++)
        most = m[c] > most ? m[c] : most;
    for (ptrdiff_t c = 0; c < C; c++)
        p[c] = adareg_exp_of_negative(m[c] - most);
    for (ptrdiff_t c = 0; c < C; c++)
        total += p[c];
    const double part = 1.0 / total;
    for (ptrdiff_t c = 0; c < C; c++)
        p[c] *= part;
    return log(total) + (most - m[y]);
}

/* e = e^(−x) */
ADAREG_CLONES static void adareg_exp_of_minus(adareg_in x, ptrdiff_t n, adareg_out e)
{
    for (ptrdiff_t k = 0; k < n; k++)
        e[k] = adareg_exp_of_negative(-x[k]);
}

/* The weighted means of m where the mask is 1, of several layers of weights; n is a multiple of 4. */
ADAREG_CLONES static void adareg_layer_margins(adareg_in w, ptrdiff_t layers, ptrdiff_t n, adareg_in m, adareg_in mask, adareg_out mean)
{
    for (ptrdiff_t r = 0; r < layers; r++) {
        double sum[4] = {0}, part[4] = {0};
        for (ptrdiff_t k = 0; k < n; k += 4)
            for (int q = 0; q < 4; q++) {
                const double own = w[r * n + k + q] * mask[k + q];
                part[q] += own;
                sum[q] += own * m[k + q];
            }
        mean[r] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / ((part[0] + part[1]) + (part[2] + part[3]));
    }
}

/* Losses times a factor, above the least one, and at most cap; loss keeps them uncapped. What is not finite is 1e300. The least. */
ADAREG_CLONES static double adareg_cap(adareg_out loss, double factor, double cap, ptrdiff_t n, adareg_out capped, adareg_out total)
{
    double least = 1e300;
    for (ptrdiff_t k = 0; k < n; k++) {
        const double own = loss[k] * factor, finite = own < 1e300 ? own : 1e300;
        loss[k] = finite;
        least = finite < least ? finite : least;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        const double own = loss[k] - least;
        loss[k] = own;
        capped[k] = own < cap ? own : cap;
        total[k] += capped[k];
    }
    return least;
}

/* w ← (1 − a) w e^(−ℓ) / Σ w e^(−ℓ) + a first, given e^(−ℓ); Σ w ℓ, Σ w e^(−ℓ) and Σ w max(0, loss − cap) in sums. */
ADAREG_CLONES static void adareg_share(adareg_out w, adareg_in capped, adareg_in power, adareg_in loss, double cap, adareg_in first,
                                       double a, ptrdiff_t n, adareg_out sums)
{
    double mean[4] = {0}, total[4] = {0}, beyond[4] = {0};
    for (ptrdiff_t k = 0; k < n; k += 4)
        for (int q = 0; q < 4; q++) {
            const double own = w[k + q], more = loss[k + q] - cap;
            mean[q] += own * capped[k + q];
            beyond[q] += own * (more > 0.0 ? more : 0.0);
            total[q] += w[k + q] = own * power[k + q];
        }
    sums[0] = (mean[0] + mean[1]) + (mean[2] + mean[3]);
    sums[1] = (total[0] + total[1]) + (total[2] + total[3]);
    sums[2] = (beyond[0] + beyond[1]) + (beyond[2] + beyond[3]);
    const double factor = (1.0 - a) / sums[1];
    for (ptrdiff_t k = 0; k < n; k++)
        w[k] = w[k] * factor + a * first[k];
}

/* G ← kept G + h f fᵀ, the upper triangle, and r ← kept r + b f. */
ADAREG_CLONES static void adareg_add_row(double *ADAREG_RESTRICT G, double *ADAREG_RESTRICT r, double kept, double h, double b,
                                         adareg_in f, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double own = h * f[i];
        for (ptrdiff_t j = i; j < n; j++)
            G[i * n + j] = kept * G[i * n + j] + own * f[j];
        r[i] = kept * r[i] + b * f[i];
    }
}

/* A Newton step of 4 candidates with diagonal matrices: q = Σ z²/(s G + R), x ← x − f z/(s G + R) with f = 2 w g/(1 + w (own + 2h) q),
   G ← G + w own z²/s. Where R is 0 nothing moves. The lanes' numbers lie side by side: rows of x, G and R have ``stride``. */
ADAREG_CLONES static void adareg_diagonal_step(adareg_in z, const int *index, ptrdiff_t n, ptrdiff_t stride, double *ADAREG_RESTRICT x,
                                               double *ADAREG_RESTRICT G, adareg_in R, adareg_in s, adareg_in g, adareg_in h,
                                               adareg_in own, double w, adareg_out room)
{
    double q[4] = {0}, f[4], more[4];
    for (ptrdiff_t j = 0; j < n; j++) {
        const ptrdiff_t at = (index ? index[j] : j) * stride;
        for (int v = 0; v < 4; v++) {
            const double inverse = R[at + v] > 0.0 ? z[j] / (s[v] * G[at + v] + R[at + v]) : 0.0;
            room[4 * j + v] = inverse;
            q[v] += z[j] * inverse;
        }
    }
    for (int v = 0; v < 4; v++) {
        f[v] = 2.0 * w * g[v] / (1.0 + w * (own[v] + 2.0 * h[v]) * q[v]);
        f[v] = f[v] - f[v] == 0.0 ? f[v] : 0.0;
        more[v] = f[v] == 0.0 ? 0.0 : w * own[v] / s[v];
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        const ptrdiff_t at = (index ? index[j] : j) * stride;
        for (int v = 0; v < 4; v++) {
            x[at + v] -= f[v] * room[4 * j + v];
            G[at + v] += R[at + v] > 0.0 ? more[v] * z[j] * z[j] : 0.0;
        }
    }
}

#endif
