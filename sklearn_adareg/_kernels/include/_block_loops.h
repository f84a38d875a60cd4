/* The rounds of small blocks, in C for what _loops.h says: `restrict`, AVX2 where the machine has it, and sizes that the compiler
   knows, so that a vector of 4, 8, 16 or 32 numbers stays in registers. */
#ifndef ADAREG_BLOCK_LOOPS_H
#define ADAREG_BLOCK_LOOPS_H

#include "_loops.h"

#define ADAREG_LARGEST_SMALL_BLOCK 40

/* One weight vector of a family of blocks of n coordinates, and the round that they are in. */
typedef struct {
    const ptrdiff_t *touched; /* the numbers of the blocks touched, and how many */
    ptrdiff_t count, first;   /* the number of the family's first block */
    ptrdiff_t n, vectors, vector, room;
    double *matrix;       /* n × n of each block and weight vector: the inverse P of G, or H = G_τ^(−1/2) */
    double *pending;      /* gradients that G has not taken yet, room × n */
    double *waiting;      /* how many there are */
    const double *z;      /* the row, and the family's coordinates in it */
    double *x, *u;        /* of this weight vector; u may be null */
    double slope, rate;   /* of gradients as they enter G; of steps */
    double C;             /* the averaging weight so far */
    ptrdiff_t *full;      /* the blocks for which no further gradient may wait, and how many */
    ptrdiff_t n_full;
    /* of such an H alone */
    double *s;            /* at least λ_max(G_τ^(−1/2) G_t G_τ^(−1/2)) − 1, which δ bounds */
    const double *stale;  /* not zero: there is no such H */
    double delta;
    double *v;            /* where H g of the blocks left out goes, at the family's coordinates */
    ptrdiff_t *late;      /* these blocks, whose H may not serve, and how many */
    ptrdiff_t n_late;
} adareg_block_round;

/* v = P g, by rows of P; returns gᵀv */
ADAREG_INLINE double adareg_inverse_times(adareg_in P, adareg_in g, adareg_out v, const ptrdiff_t n)
{
    double q = 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] = 0.0;
    for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            v[i] += g[j] * P[j * n + i];
    for (ptrdiff_t i = 0; i < n; i++)
        q += g[i] * v[i];
    return q;
}

/* P −= weight v vᵀ */
ADAREG_INLINE void adareg_inverse_less(double weight, adareg_in v, adareg_out P, const ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        const double w = weight * v[j];
        for (ptrdiff_t i = 0; i < n; i++)
            P[j * n + i] -= w * v[i];
    }
}

#if defined(__GNUC__)
/* The same for n = 4 VECTORS, with the sums in registers: left to itself, GCC unrolls the rows and transposes P on the way. */
#define ADAREG_INVERSE_OF(VECTORS)                                                                                     \
    ADAREG_INLINE double adareg_inverse_times_##VECTORS(const double *P, const double *g, double *v)                  \
    {                                                                                                                  \
        adareg_vector even[VECTORS], odd[VECTORS], q;                                                                  \
        for (int c = 0; c < VECTORS; c++)                                                                              \
            even[c] = odd[c] = (adareg_vector){0};                                                                     \
        _Pragma("GCC unroll 1") for (ptrdiff_t j = 0; j < 4 * VECTORS; j += 2)                                         \
        {                                                                                                              \
            const double *row = P + j * 4 * VECTORS;                                                                   \
            for (int c = 0; c < VECTORS; c++) {                                                                        \
                even[c] += g[j] * ADAREG_VECTOR(row + 4 * c);                                                          \
                odd[c] += g[j + 1] * ADAREG_VECTOR(row + 4 * VECTORS + 4 * c);                                         \
            }                                                                                                          \
        }                                                                                                              \
        q = (adareg_vector){0};                                                                                        \
        for (int c = 0; c < VECTORS; c++) {                                                                            \
            even[c] += odd[c];                                                                                         \
            ADAREG_VECTOR(v + 4 * c) = even[c];                                                                        \
            q += even[c] * ADAREG_VECTOR(g + 4 * c);                                                                   \
        }                                                                                                              \
        return (q[0] + q[2]) + (q[1] + q[3]);                                                                          \
    }                                                                                                                  \
    ADAREG_INLINE void adareg_inverse_less_##VECTORS(double weight, const double *v, double *P)                        \
    {                                                                                                                  \
        adareg_vector whole[VECTORS];                                                                                  \
        for (int c = 0; c < VECTORS; c++)                                                                              \
            whole[c] = ADAREG_VECTOR(v + 4 * c);                                                                       \
        _Pragma("GCC unroll 1") for (ptrdiff_t j = 0; j < 4 * VECTORS; j++)                                            \
        {                                                                                                              \
            const double w = weight * v[j];                                                                            \
            double *row = P + j * 4 * VECTORS;                                                                         \
            for (int c = 0; c < VECTORS; c++)                                                                          \
                ADAREG_VECTOR(row + 4 * c) -= w * whole[c];                                                            \
        }                                                                                                              \
    }
ADAREG_INVERSE_OF(1)
ADAREG_INVERSE_OF(2)
ADAREG_INVERSE_OF(4)
ADAREG_INVERSE_OF(8)
#define ADAREG_TIMES(P, g, v, n, VECTORS) (VECTORS == 1 ? adareg_inverse_times_1(P, g, v) : VECTORS == 2 ? adareg_inverse_times_2(P, g, v) \
    : VECTORS == 4 ? adareg_inverse_times_4(P, g, v) : VECTORS == 8 ? adareg_inverse_times_8(P, g, v) : adareg_inverse_times(P, g, v, n))
#define ADAREG_LESS(w, v, P, n, VECTORS) (VECTORS == 1 ? adareg_inverse_less_1(w, v, P) : VECTORS == 2 ? adareg_inverse_less_2(w, v, P) \
    : VECTORS == 4 ? adareg_inverse_less_4(w, v, P) : VECTORS == 8 ? adareg_inverse_less_8(w, v, P) : adareg_inverse_less(w, v, P, n))
#else
#define ADAREG_TIMES(P, g, v, n, VECTORS) adareg_inverse_times(P, g, v, n)
#define ADAREG_LESS(w, v, P, n, VECTORS) adareg_inverse_less(w, v, P, n)
#endif

/* x −= step v */
ADAREG_INLINE void adareg_step(double step, const double *v, double *x, const ptrdiff_t n, const int vectors)
{
#if defined(__GNUC__)
    for (int c = 0; c < vectors; c++)
        ADAREG_VECTOR(x + 4 * c) -= step * ADAREG_VECTOR(v + 4 * c);
#endif
    for (ptrdiff_t i = 4 * vectors; i < n; i++)
        x[i] -= step * v[i];
}

/* v = P g, P −= v vᵀ / (1 + gᵀv), x −= rate v / (1 + gᵀv), for each block touched; n and vectors = n/4 (0: no such) are constants
   where this is inlined. */
ADAREG_INLINE void adareg_inverse_rounds_of(adareg_block_round *r, const ptrdiff_t n, const int vectors)
{
    double g[ADAREG_LARGEST_SMALL_BLOCK], v[ADAREG_LARGEST_SMALL_BLOCK];
    r->n_full = 0;
    for (ptrdiff_t k = 0; k < r->count; k++) {
        const ptrdiff_t block = r->touched[k] - r->first, piece = block * r->vectors + r->vector;
        const double *ADAREG_RESTRICT z = r->z + block * n;
        double *x = r->x + block * n;
        double *P = r->matrix + piece * n * n;
        double *ADAREG_RESTRICT wait = r->pending + (piece * r->room + (ptrdiff_t)r->waiting[piece]) * n;
        for (ptrdiff_t i = 0; i < n; i++)
            g[i] = r->slope * z[i];
        const double q = ADAREG_TIMES(P, g, v, n, vectors);
        const double weight = 1.0 / (1.0 + q), step = r->rate * weight, heavy = r->C * step;
        adareg_step(step, v, x, n, vectors);
        if (r->u)
            adareg_step(heavy, v, r->u + block * n, n, vectors);
        if (weight == 1.0)
            continue;
        ADAREG_LESS(weight, v, P, n, vectors);
        for (ptrdiff_t i = 0; i < n; i++)
            wait[i] = g[i];
        r->waiting[piece] += 1.0;
        if (r->waiting[piece] == (double)r->room)
            r->full[r->n_full++] = r->touched[k];
    }
}

/* v = H g, s += vᵀv, x −= rate v for each block touched whose H certainly serves */
ADAREG_INLINE void adareg_root_rounds_of(adareg_block_round *r, const ptrdiff_t n, const int vectors)
{
    double g[ADAREG_LARGEST_SMALL_BLOCK], v[ADAREG_LARGEST_SMALL_BLOCK];
    r->n_late = r->n_full = 0;
    for (ptrdiff_t k = 0; k < r->count; k++) {
        const ptrdiff_t block = r->touched[k] - r->first, piece = block * r->vectors + r->vector;
        const double *ADAREG_RESTRICT z = r->z + block * n;
        double *ADAREG_RESTRICT wait = r->pending + (piece * r->room + (ptrdiff_t)r->waiting[piece]) * n;
        double square = 0.0;
        for (ptrdiff_t i = 0; i < n; i++)
            g[i] = r->slope * z[i];
        (void)ADAREG_TIMES(r->matrix + piece * n * n, g, v, n, vectors);
        for (ptrdiff_t i = 0; i < n; i++)
            square += v[i] * v[i];
        if (r->stale[piece] != 0.0 || !(r->s[piece] + square <= r->delta)) {
            for (ptrdiff_t i = 0; i < n; i++)
                r->v[block * n + i] = v[i];
            r->late[r->n_late++] = r->touched[k];
            continue;
        }
        adareg_step(r->rate, v, r->x + block * n, n, vectors);
        if (r->u)
            adareg_step(r->C * r->rate, v, r->u + block * n, n, vectors);
        for (ptrdiff_t i = 0; i < n; i++)
            wait[i] = g[i];
        r->s[piece] += square;
        r->waiting[piece] += 1.0;
        if (r->waiting[piece] == (double)r->room)
            r->full[r->n_full++] = r->touched[k];
    }
}

/* LOOPS with the lengths that vectors of four fill known to the compiler, so that it unrolls them. */
#define ADAREG_BY_FOURS(LOOPS)                              \
    ADAREG_CLONES static void LOOPS(adareg_block_round *r)  \
    {                                                       \
        if (r->n == 4)                                      \
            LOOPS##_of(r, 4, 1);                            \
        else if (r->n == 8)                                 \
            LOOPS##_of(r, 8, 2);                            \
        else if (r->n == 16)                                \
            LOOPS##_of(r, 16, 4);                           \
        else if (r->n == 32)                                \
            LOOPS##_of(r, 32, 8);                           \
        else                                                \
            LOOPS##_of(r, r->n, 0);                         \
    }

ADAREG_BY_FOURS(adareg_inverse_rounds)
ADAREG_BY_FOURS(adareg_root_rounds)

#endif
