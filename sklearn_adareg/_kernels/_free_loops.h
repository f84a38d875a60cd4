/* The loops of _free_set over all coordinates. Which state a coordinate has is as good as random, so that none of them branches on it. */
#ifndef ADAREG_FREE_LOOPS_H
#define ADAREG_FREE_LOOPS_H

#include "_loops.h"

/* One turn of coordinate descent, the first d of n coordinates between bounds: x_i moves to where w_i is 0, and w −= K Δx */
ADAREG_CLONES static void adareg_sweep(adareg_in K, adareg_in inverse, double lower, double upper, adareg_out x, adareg_out w, ptrdiff_t d,
                                       ptrdiff_t n)
{
    for (ptrdiff_t i = n - 1; i >= 0; i--) {
        double to = x[i] + w[i] * inverse[i];
        if (i < d)
            to = to < lower ? lower : (to > upper ? upper : to);
        const double by = x[i] - to;
        if (by == 0.0)
            continue;
        x[i] = to;
        adareg_in row = K + i * n;
        for (ptrdiff_t j = 0; j < n; j++)
            w[j] += by * row[j];
    }
}

/* The upper triangle of the rows and columns of K in index, in m rows of length m */
ADAREG_CLONES static void adareg_gather(adareg_in K, ptrdiff_t n, const int *ADAREG_RESTRICT index, adareg_out block, ptrdiff_t m)
{
    for (ptrdiff_t k = 0; k < m; k++) {
        adareg_in source = K + index[k] * n;
        double *ADAREG_RESTRICT row = block + k * m;
        for (ptrdiff_t l = k; l < m; l++)
            row[l] = source[index[l]];
    }
}

/* The coordinates whose state is 0, or is not; how many there are */
ADAREG_CLONES static ptrdiff_t adareg_select(const signed char *ADAREG_RESTRICT state, int zero, int *ADAREG_RESTRICT index, ptrdiff_t d)
{
    ptrdiff_t k = 0;
    for (ptrdiff_t i = 0; i < d; i++) {
        index[k] = (int)i;
        k += (state[i] == 0) == zero;
    }
    return k;
}

/* States between bounds that x and w call for: held at a bound while w pushes outwards, by more than `slack` of what rounding does to
   w, and to x; how many are others than before */
ADAREG_CLONES static ptrdiff_t adareg_bound_states(double **of, double lower, double upper, double reach, double slack,
                                                   signed char *ADAREG_RESTRICT state, ptrdiff_t d)
{
    adareg_in x = of[0], w = of[1], a = of[2], f = of[3], root = of[4];
    ptrdiff_t wrong = 0;
    for (ptrdiff_t i = 0; i < d; i++) {
        const int s = state[i];
        const double off = slack * (fabs(a[i]) + fabs(x[i] - a[i]));
        const int outside = (x[i] > upper + off) - (x[i] < lower - off);
        const int stays = !(s * w[i] < -slack * (fabs(f[i]) + root[i] * reach));
        const int next = s == 0 ? outside : s * stays;
        wrong += next != s;
        state[i] = (signed char)next;
    }
    return wrong;
}

/* The same for a sum: at 0 while |w| is at most the level, or w if there is one sign only */
ADAREG_CLONES static ptrdiff_t adareg_sum_states(double **of, double level, int two_signs, double reach, double slack,
                                                 signed char *ADAREG_RESTRICT state, ptrdiff_t d)
{
    adareg_in x = of[0], w = of[1], a = of[2], f = of[3], root = of[4];
    ptrdiff_t wrong = 0;
    for (ptrdiff_t i = 0; i < d; i++) {
        const int s = state[i];
        const double off = slack * (fabs(f[i]) + root[i] * reach);
        const int above = w[i] > level + off, below = two_signs & (w[i] < -level - off);
        const int stays = !(s * x[i] < -slack * (fabs(a[i]) + fabs(x[i] - a[i])));
        const int next = s == 0 ? above - (below & !above) : s * stays;
        wrong += next != s;
        state[i] = (signed char)next;
    }
    return wrong;
}

#endif
