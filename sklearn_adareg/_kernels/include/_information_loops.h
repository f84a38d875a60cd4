/* The loops of sums over rows, and of candidates that read a row together.

   What a row says does not depend on how many rows are read at once: each sum goes over its terms in their order. */
#ifndef ADAREG_INFORMATION_LOOPS_H
#define ADAREG_INFORMATION_LOOPS_H

#include "_loops.h"

/* Four numbers as one, where compilers leave a loop over four as it is. */
#if defined(__GNUC__)
typedef double adareg_four __attribute__((vector_size(32), aligned(8), may_alias));
#define ADAREG_FOUR(x) ((adareg_four){(x), (x), (x), (x)})
#define ADAREG_GET(p) (*(const adareg_four *)(p))
#define ADAREG_PUT(p, a) (*(adareg_four *)(p) = (a))
#define ADAREG_PLUS(a, b) ((a) + (b))
#define ADAREG_TIMES(a, b) ((a) * (b))
#define ADAREG_SUM(a) (((a)[0] + (a)[1]) + ((a)[2] + (a)[3]))
#else
typedef struct {
    double v[4];
} adareg_four;
static inline adareg_four adareg_four_of(double x) { adareg_four a = {{x, x, x, x}}; return a; }
static inline adareg_four adareg_take_four(const double *p) { adareg_four a = {{p[0], p[1], p[2], p[3]}}; return a; }
static inline void adareg_put_four(double *p, adareg_four a) { memcpy(p, a.v, sizeof a.v); }
static inline adareg_four adareg_plus(adareg_four a, adareg_four b)
{
    for (int q = 0; q < 4; q++)
        a.v[q] += b.v[q];
    return a;
}
static inline adareg_four adareg_times(adareg_four a, adareg_four b)
{
    for (int q = 0; q < 4; q++)
        a.v[q] *= b.v[q];
    return a;
}
#define ADAREG_FOUR(x) adareg_four_of(x)
#define ADAREG_GET(p) adareg_take_four(p)
#define ADAREG_PUT(p, a) adareg_put_four(p, a)
#define ADAREG_PLUS(a, b) adareg_plus(a, b)
#define ADAREG_TIMES(a, b) adareg_times(a, b)
#define ADAREG_SUM(a) (((a).v[0] + (a).v[1]) + ((a).v[2] + (a).v[3]))
#endif
#define ADAREG_ADD(to, a, b) ((to) = ADAREG_PLUS(to, ADAREG_TIMES(a, b)))

/* m_v = Σ_i z_i x_iv of n rows of Z, for the first ``lanes`` of V weight vectors that lie side by side; a multiple of 4. */
ADAREG_CLONES static void adareg_margins(const double *Z, ptrdiff_t stride, ptrdiff_t n, ptrdiff_t D, const double *x, ptrdiff_t V,
                                         ptrdiff_t lanes, double *m)
{
    for (ptrdiff_t s = 0; s < n; s++) {
        const double *z = Z + s * stride;
        ptrdiff_t v = 0;
        for (; v + 8 <= lanes; v += 8) {
            adareg_four one = ADAREG_FOUR(0.0), two = one;
            for (ptrdiff_t i = 0; i < D; i++) {
                const adareg_four own = ADAREG_FOUR(z[i]);
                ADAREG_ADD(one, own, ADAREG_GET(x + i * V + v));
                ADAREG_ADD(two, own, ADAREG_GET(x + i * V + v + 4));
            }
            ADAREG_PUT(m + s * V + v, one);
            ADAREG_PUT(m + s * V + v + 4, two);
        }
        for (; v < lanes; v += 4) {
            adareg_four one = ADAREG_FOUR(0.0);
            for (ptrdiff_t i = 0; i < D; i++)
                ADAREG_ADD(one, ADAREG_FOUR(z[i]), ADAREG_GET(x + i * V + v));
            ADAREG_PUT(m + s * V + v, one);
        }
    }
}

/* The same of one sparse row. */
ADAREG_CLONES static void adareg_sparse_margins(adareg_in z, const int *index, ptrdiff_t n, adareg_in x, ptrdiff_t V, ptrdiff_t lanes,
                                                adareg_out m)
{
    for (ptrdiff_t v = 0; v < lanes; v++)
        m[v] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t v = 0; v < lanes; v++)
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

/* a = h z and r += f z */
ADAREG_CLONES static void adareg_weigh_row(adareg_in z, double h, double f, ptrdiff_t n, adareg_out a, double *r)
{
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = h * z[i];
    if (r)
        for (ptrdiff_t i = 0; i < n; i++)
            r[i] += f * z[i];
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

/* The weighted sums of log-losses of n rows with labels y at old + step (new − old), for some lanes of rows of V, a multiple of 4; room
   is for two numbers a row and lane. */
ADAREG_CLONES static void adareg_log_loss_sums(adareg_in old, adareg_in move, double step, adareg_in y, adareg_in weight, ptrdiff_t n,
                                               ptrdiff_t V, ptrdiff_t lanes, adareg_out room, adareg_out totals)
{
    double *loss = room + n * lanes;
    for (ptrdiff_t s = 0; s < n; s++)
        for (ptrdiff_t v = 0; v < lanes; v++)
            room[s * lanes + v] = y[s] * (old[s * V + v] + step * move[s * V + v]);
    adareg_log_losses(room, 1.0, n * lanes, loss);
    for (ptrdiff_t v = 0; v < lanes; v++)
        totals[v] = 0.0;
    for (ptrdiff_t s = 0; s < n; s++)
        for (ptrdiff_t v = 0; v < lanes; v++)
            totals[v] += weight[s] * loss[s * lanes + v];
}

/* to ← from + step_v move, for some lanes of n rows. */
ADAREG_CLONES static void adareg_move_rows(adareg_in from, ptrdiff_t V, adareg_in move, adareg_in step, ptrdiff_t n, ptrdiff_t lanes,
                                           double *to, ptrdiff_t stride)
{
    for (ptrdiff_t s = 0; s < n; s++)
        for (ptrdiff_t v = 0; v < lanes; v++)
            to[s * stride + v] = from[s * V + v] + step[v] * move[s * V + v];
}

/* move ← move − from, for some lanes of n rows. */
ADAREG_CLONES static void adareg_subtract_rows(adareg_in from, ptrdiff_t V, ptrdiff_t n, ptrdiff_t lanes, adareg_out move)
{
    for (ptrdiff_t s = 0; s < n; s++)
        for (ptrdiff_t v = 0; v < lanes; v++)
            move[s * V + v] -= from[s * V + v];
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

/* The weighted means of the first n of m where the mask is 1, of several layers of weights; n is a multiple of 4. */
ADAREG_CLONES static void adareg_layer_margins(const double *w, ptrdiff_t layers, ptrdiff_t stride, ptrdiff_t n, const double *m,
                                               const double *mask, double *mean)
{
    for (ptrdiff_t r = 0; r < layers; r++) {
        adareg_four sum = ADAREG_FOUR(0.0), part = sum;
        for (ptrdiff_t k = 0; k < n; k += 4) {
            const adareg_four own = ADAREG_TIMES(ADAREG_GET(w + r * stride + k), ADAREG_GET(mask + k));
            part = ADAREG_PLUS(part, own);
            ADAREG_ADD(sum, own, ADAREG_GET(m + k));
        }
        mean[r] = ADAREG_SUM(sum) / ADAREG_SUM(part);
    }
}

/* Losses times a factor, above the least one, and at most cap; loss keeps what is above the cap. What is not finite is 1e300.
   The least. */
ADAREG_CLONES static double adareg_cap(adareg_out loss, double factor, double cap, ptrdiff_t n, adareg_out capped)
{
    double least = 1e300;
    for (ptrdiff_t k = 0; k < n; k++) {
        const double own = loss[k] * factor, finite = own < 1e300 ? own : 1e300;
        loss[k] = finite;
        least = finite < least ? finite : least;
    }
    for (ptrdiff_t k = 0; k < n; k++) {
        const double own = loss[k] - least, most = own < cap ? own : cap;
        capped[k] = most;
        loss[k] = own - most;
    }
    return least;
}

/* Layers of weights, each with its rate a: w ← (1 − a) A w e^(−ℓ) / Σ w e^(−ℓ) + a first where awake is 1, given e^(−ℓ), A the sum of
   w there; (1 − a) w + a first elsewhere, and in all of the others from n to room. The power, the capped losses and what is beyond
   become 0 where awake is 0. For each layer Σ w ℓ, Σ w e^(−ℓ) and Σ w beyond, over A, in sums. n and room are multiples of 4. */
ADAREG_CLONES static void adareg_share(double *w, ptrdiff_t layers, const double *awake, double *capped, double *power, double *beyond,
                                       const double *first, const double *rates, ptrdiff_t n, ptrdiff_t room, double *sums)
{
    const adareg_four none = ADAREG_FOUR(0.0), one = ADAREG_FOUR(1.0), minus = ADAREG_FOUR(-1.0);
    for (ptrdiff_t k = 0; k < n; k += 4) {
        const adareg_four there = ADAREG_GET(awake + k);
        ADAREG_PUT(capped + k, ADAREG_TIMES(ADAREG_GET(capped + k), there));
        ADAREG_PUT(power + k, ADAREG_TIMES(ADAREG_GET(power + k), there));
        ADAREG_PUT(beyond + k, ADAREG_TIMES(ADAREG_GET(beyond + k), there));
    }
    for (ptrdiff_t r = 0; r < layers; r++) {
        double *own = w + r * room;
        const adareg_four a = ADAREG_FOUR(rates[r]), stays = ADAREG_FOUR(1.0 - rates[r]);
        adareg_four mean = none, total = none, more = none, rest = none;
        for (ptrdiff_t k = 0; k < n; k += 4) {
            const adareg_four v = ADAREG_GET(own + k);
            ADAREG_ADD(rest, v, ADAREG_PLUS(one, ADAREG_TIMES(minus, ADAREG_GET(awake + k))));
            ADAREG_ADD(mean, v, ADAREG_GET(capped + k));
            ADAREG_ADD(total, v, ADAREG_GET(power + k));
            ADAREG_ADD(more, v, ADAREG_GET(beyond + k));
        }
        for (ptrdiff_t k = n; k < room; k += 4) {
            const adareg_four v = ADAREG_GET(own + k);
            rest = ADAREG_PLUS(rest, v);
            ADAREG_PUT(own + k, ADAREG_PLUS(ADAREG_TIMES(v, stays), ADAREG_TIMES(a, ADAREG_GET(first + k))));
        }
        const double part = 1.0 / (1.0 - ADAREG_SUM(rest));
        sums[3 * r] = ADAREG_SUM(mean) * part;
        sums[3 * r + 1] = ADAREG_SUM(total) * part;
        sums[3 * r + 2] = ADAREG_SUM(more) * part;
        const adareg_four factor = ADAREG_FOUR((1.0 - rates[r]) / sums[3 * r + 1]);
        for (ptrdiff_t k = 0; k < n; k += 4) {
            const adareg_four asleep = ADAREG_PLUS(one, ADAREG_TIMES(minus, ADAREG_GET(awake + k)));
            const adareg_four left = ADAREG_PLUS(ADAREG_TIMES(ADAREG_GET(power + k), factor), ADAREG_TIMES(asleep, stays));
            ADAREG_PUT(own + k, ADAREG_PLUS(ADAREG_TIMES(ADAREG_GET(own + k), left), ADAREG_TIMES(a, ADAREG_GET(first + k))));
        }
    }
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
