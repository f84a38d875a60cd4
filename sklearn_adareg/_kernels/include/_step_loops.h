/* Steps that are proposed first and taken later, in C for what _loops.h says. */
#ifndef ADAREG_STEP_LOOPS_H
#define ADAREG_STEP_LOOPS_H

#include "_loops.h"

/* goal = x − l rᵀ, (K, D); returns Σ |goal|, in four partial sums a row, which become a vector */
ADAREG_CLONES static double adareg_propose_outer(adareg_in l, adareg_in r, adareg_in x, adareg_out goal, ptrdiff_t K, ptrdiff_t D)
{
    double part[4] = {0}, rest = 0.0;
    const ptrdiff_t whole = D & ~(ptrdiff_t)3;
    for (ptrdiff_t k = 0; k < K; k++) {
        const double step = l[k];
        const double *from = x + k * D;
        double *to = goal + k * D;
        for (ptrdiff_t j = 0; j < whole; j += 4)
            for (int c = 0; c < 4; c++) {
                const double value = from[j + c] - step * r[j + c];
                to[j + c] = value;
                part[c] += fabs(value);
            }
        for (ptrdiff_t j = whole; j < D; j++) {
            to[j] = from[j] - step * r[j];
            rest += fabs(to[j]);
        }
    }
    return rest + ((part[0] + part[2]) + (part[1] + part[3]));
}

/* Σ |goal| */
ADAREG_CLONES static double adareg_sizes(adareg_in goal, ptrdiff_t n)
{
    double part[4] = {0}, rest = 0.0;
    const ptrdiff_t whole = n & ~(ptrdiff_t)3;
    for (ptrdiff_t j = 0; j < whole; j += 4)
        for (int c = 0; c < 4; c++)
            part[c] += fabs(goal[j + c]);
    for (ptrdiff_t j = whole; j < n; j++)
        rest += fabs(goal[j]);
    return rest + ((part[0] + part[2]) + (part[1] + part[3]));
}

/* u = kept u + C (goal − x), unless u is null, and x = goal */
ADAREG_CLONES static void adareg_take_goal(double kept, double C, adareg_in goal, adareg_out x, adareg_out u, ptrdiff_t n)
{
    if (u)
        for (ptrdiff_t i = 0; i < n; i++)
            u[i] = kept * u[i] + C * (goal[i] - x[i]);
    memcpy(x, goal, n * sizeof(double));
}

#endif
