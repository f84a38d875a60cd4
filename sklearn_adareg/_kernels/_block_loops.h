/* The rounds of small blocks, in C for what _loops.h says: `restrict`, AVX2 where the machine has it, and sizes that the compiler
   knows, so that a vector of 4, 8, 16 or 32 numbers stays in registers. */
#ifndef ADAREG_BLOCK_LOOPS_H
#define ADAREG_BLOCK_LOOPS_H

#include "_cyclic_loops.h"

#define ADAREG_LARGEST_SMALL_BLOCK 40

/* One lane of a family of blocks of n coordinates, and the round that they are in. */
typedef struct {
    const ptrdiff_t *touched; /* the numbers of the blocks touched, and how many */
    ptrdiff_t count, first;   /* the number of the family's first block */
    ptrdiff_t n, lanes, lane, room;
    double *P;          /* inverses, n × n of each block and lane */
    double *pending;    /* gradients that G has not taken yet, room × n */
    double *waiting;    /* how many there are */
    const double *z;    /* the row, and the family's coordinates in it */
    double *x, *u;      /* of this lane; u may be null */
    double slope, rate; /* of gradients as they enter G; of steps */
    double C;           /* the averaging weight so far */
    int cyclic;         /* P is held by cyclic diagonals */
    ptrdiff_t *full;    /* the blocks for which no further gradient may wait, and how many */
    ptrdiff_t n_full;
} adareg_inverse_round;

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
ADAREG_INLINE void adareg_inverse_rounds_of(adareg_inverse_round *r, const ptrdiff_t n, const int vectors)
{
    double g[ADAREG_LARGEST_SMALL_BLOCK], v[ADAREG_LARGEST_SMALL_BLOCK];
    for (ptrdiff_t k = 0; k < r->count; k++) {
        const ptrdiff_t block = r->touched[k] - r->first, piece = block * r->lanes + r->lane;
        const double *ADAREG_RESTRICT z = r->z + block * n;
        double *x = r->x + block * n;
        double *P = r->P + piece * n * n;
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

#if ADAREG_EIGHTS
/* The same for n = 16 by cyclic diagonals, eight blocks at a time: none waits for the product and the division of another */
ADAREG_EIGHT_LOOP void adareg_inverse_rounds_cyclic(adareg_inverse_round *round)
{
    const adareg_inverse_round r = *round; /* the compiler need not fear that stores change it */
    ptrdiff_t n_full = 0;
    for (ptrdiff_t from = 0; from < r.count; from += 8) {
        const int count = r.count - from < 8 ? (int)(r.count - from) : 8;
        adareg_eight v[8][2], part[8] = {{0}};
        double weights[8];
        for (int k = 0; k < count; k++) {
            const ptrdiff_t block = r.touched[from + k] - r.first, piece = block * r.lanes + r.lane;
            const adareg_eight g[2] = {r.slope * ADAREG_EIGHT(r.z + 16 * block), r.slope * ADAREG_EIGHT(r.z + 16 * block + 8)};
            double *wait = r.pending + (piece * r.room + (ptrdiff_t)r.waiting[piece]) * 16;
            adareg_cyclic_times(r.P + piece * ADAREG_CYCLIC_SIZE, g, v[k]);
            part[k] = g[0] * v[k][0] + g[1] * v[k][1];
            ADAREG_EIGHT(wait) = g[0];
            ADAREG_EIGHT(wait + 8) = g[1];
        }
        ADAREG_EIGHT(weights) = 1.0 / (1.0 + adareg_eight_sums(part));
        for (int k = 0; k < count; k++) {
            const ptrdiff_t block = r.touched[from + k] - r.first, piece = block * r.lanes + r.lane;
            const adareg_eight step[2] = {r.rate * weights[k] * v[k][0], r.rate * weights[k] * v[k][1]};
            double *x = r.x + 16 * block;
            ADAREG_EIGHT(x) -= step[0];
            ADAREG_EIGHT(x + 8) -= step[1];
            if (r.u) {
                double *u = r.u + 16 * block;
                ADAREG_EIGHT(u) -= r.C * step[0];
                ADAREG_EIGHT(u + 8) -= r.C * step[1];
            }
            if (weights[k] == 1.0)
                continue;
            adareg_cyclic_less(weights[k], v[k], r.P + piece * ADAREG_CYCLIC_SIZE);
            const double waiting = r.waiting[piece] + 1.0;
            r.waiting[piece] = waiting;
            if (waiting == (double)r.room)
                r.full[n_full++] = r.touched[from + k];
        }
    }
    round->n_full = n_full;
}

/* The same for n = 8c, eight numbers at a time */
ADAREG_EIGHT_INLINE void adareg_inverse_rounds_by_eights(adareg_inverse_round *r, const int c)
{
    const ptrdiff_t n = 8 * c;
    for (ptrdiff_t t = 0; t < r->count; t++) {
        const ptrdiff_t block = r->touched[t] - r->first, piece = block * r->lanes + r->lane;
        double *P = r->P + piece * n * n, *x = r->x + block * n;
        double *wait = r->pending + (piece * r->room + (ptrdiff_t)r->waiting[piece]) * n;
        adareg_eight g[4], v[4], odd[4], q;
        for (int k = 0; k < c; k++) {
            g[k] = r->slope * ADAREG_EIGHT(r->z + block * n + 8 * k);
            v[k] = odd[k] = (adareg_eight){0};
        }
        for (int j = 0; j < n; j += 2)
            for (int k = 0; k < c; k++) {
                v[k] += g[j / 8][j % 8] * ADAREG_EIGHT(P + j * n + 8 * k);
                odd[k] += g[j / 8][j % 8 + 1] * ADAREG_EIGHT(P + (j + 1) * n + 8 * k);
            }
        q = (adareg_eight){0};
        for (int k = 0; k < c; k++) {
            v[k] += odd[k];
            q += g[k] * v[k];
        }
        const double weight = 1.0 / (1.0 + adareg_sum_of_eight(q)), step = r->rate * weight;
        for (int k = 0; k < c; k++)
            ADAREG_EIGHT(x + 8 * k) -= step * v[k];
        if (r->u)
            for (int k = 0; k < c; k++)
                ADAREG_EIGHT(r->u + block * n + 8 * k) -= r->C * step * v[k];
        if (weight == 1.0)
            continue;
        for (int j = 0; j < n; j++) {
            const double w = weight * v[j / 8][j % 8];
            for (int k = 0; k < c; k++)
                ADAREG_EIGHT(P + j * n + 8 * k) -= w * v[k];
        }
        for (int k = 0; k < c; k++)
            ADAREG_EIGHT(wait + 8 * k) = g[k];
        r->waiting[piece] += 1.0;
        if (r->waiting[piece] == (double)r->room)
            r->full[r->n_full++] = r->touched[t];
    }
}

ADAREG_EIGHT_LOOP void adareg_inverse_rounds_512(adareg_inverse_round *r)
{
    if (r->n == 8)
        adareg_inverse_rounds_by_eights(r, 1);
    else
        adareg_inverse_rounds_by_eights(r, 4);
}
#endif

/* LOOPS with the lengths that vectors of four fill known to the compiler, so that it unrolls them. */
#define ADAREG_BY_FOURS(LOOPS, ROUND)                     \
    ADAREG_CLONES static void LOOPS##_by_fours(ROUND *r) \
    {                                                     \
        if (r->n == 4)                                    \
            LOOPS##_of(r, 4, 1);                          \
        else if (r->n == 8)                               \
            LOOPS##_of(r, 8, 2);                          \
        else if (r->n == 16)                              \
            LOOPS##_of(r, 16, 4);                         \
        else if (r->n == 32)                              \
            LOOPS##_of(r, 32, 8);                         \
        else                                              \
            LOOPS##_of(r, r->n, 0);                       \
    }

ADAREG_BY_FOURS(adareg_inverse_rounds, adareg_inverse_round)

ADAREG_UNUSED static void adareg_inverse_rounds(adareg_inverse_round *r)
{
    r->n_full = 0;
#if ADAREG_EIGHTS
    if (r->cyclic) {
        adareg_inverse_rounds_cyclic(r);
        return;
    }
    if (r->n != 16 && r->n <= 32 && r->n != 24 && adareg_by_eights(r->n)) {
        adareg_inverse_rounds_512(r);
        return;
    }
#endif
    adareg_inverse_rounds_by_fours(r);
}

/* One lane of a family of blocks with H = G_τ^(−1/2), and the round that they are in. */
typedef struct {
    const ptrdiff_t *touched; /* the numbers of the blocks touched, and how many */
    ptrdiff_t count, first;
    ptrdiff_t n, lanes, lane, room;
    int cyclic;           /* how H is held */
    const double *H;      /* of each block and lane: n × n, or cyclic diagonals */
    double *pending;      /* gradients that G has not taken yet, room × n */
    double *waiting;      /* how many there are */
    double *s;            /* at least λ_max(G_τ^(−1/2) G_t G_τ^(−1/2)) − 1, which δ bounds */
    const double *stale;  /* not zero: there is no such H */
    double delta;
    const double *z;      /* the row, and the family's coordinates in it */
    double *x, *u;        /* of this lane; u may be null */
    double slope, rate;
    double C;
    double *v;            /* where H g of the blocks left out goes, at the family's coordinates */
    ptrdiff_t *late;      /* these blocks, whose H may not serve, and how many */
    ptrdiff_t n_late;
    ptrdiff_t *full;      /* the blocks for which no further gradient may wait, and how many */
    ptrdiff_t n_full;
} adareg_root_round;

/* v = H g, s += vᵀv, x −= rate v for each block touched whose H certainly serves */
ADAREG_INLINE void adareg_root_rounds_of(adareg_root_round *r, const ptrdiff_t n, const int vectors)
{
    double g[ADAREG_LARGEST_SMALL_BLOCK], v[ADAREG_LARGEST_SMALL_BLOCK];
    r->n_late = r->n_full = 0;
    for (ptrdiff_t k = 0; k < r->count; k++) {
        const ptrdiff_t block = r->touched[k] - r->first, piece = block * r->lanes + r->lane;
        const double *ADAREG_RESTRICT z = r->z + block * n;
        double *ADAREG_RESTRICT wait = r->pending + (piece * r->room + (ptrdiff_t)r->waiting[piece]) * n;
        double square = 0.0;
        for (ptrdiff_t i = 0; i < n; i++)
            g[i] = r->slope * z[i];
        (void)ADAREG_TIMES(r->H + piece * n * n, g, v, n, vectors);
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

ADAREG_BY_FOURS(adareg_root_rounds, adareg_root_round)

#if ADAREG_EIGHTS
ADAREG_EIGHT_LOOP void adareg_root_rounds_cyclic(adareg_root_round *round)
{
    const adareg_root_round r = *round; /* the compiler need not fear that stores change it */
    ptrdiff_t n_late = 0, n_full = 0;
    for (ptrdiff_t k = 0; k < r.count; k++) {
        const ptrdiff_t block = r.touched[k] - r.first, piece = block * r.lanes + r.lane;
        const adareg_eight g[2] = {r.slope * ADAREG_EIGHT(r.z + 16 * block), r.slope * ADAREG_EIGHT(r.z + 16 * block + 8)};
        double *wait = r.pending + (piece * r.room + (ptrdiff_t)r.waiting[piece]) * 16;
        adareg_eight v[2];
        adareg_cyclic_times(r.H + piece * ADAREG_CYCLIC_SIZE, g, v);
        const double s = r.s[piece] + _mm512_reduce_add_pd((__m512d)(v[0] * v[0] + v[1] * v[1]));
        if (r.stale[piece] != 0.0 || !(s <= r.delta)) {
            ADAREG_EIGHT(r.v + 16 * block) = v[0];
            ADAREG_EIGHT(r.v + 16 * block + 8) = v[1];
            r.late[n_late++] = r.touched[k];
            continue;
        }
        const adareg_eight step[2] = {r.rate * v[0], r.rate * v[1]};
        double *x = r.x + 16 * block;
        ADAREG_EIGHT(wait) = g[0];
        ADAREG_EIGHT(wait + 8) = g[1];
        ADAREG_EIGHT(x) -= step[0];
        ADAREG_EIGHT(x + 8) -= step[1];
        if (r.u) {
            double *u = r.u + 16 * block;
            ADAREG_EIGHT(u) -= r.C * step[0];
            ADAREG_EIGHT(u + 8) -= r.C * step[1];
        }
        r.s[piece] = s;
        const double waiting = r.waiting[piece] + 1.0;
        r.waiting[piece] = waiting;
        if (waiting == (double)r.room)
            r.full[n_full++] = r.touched[k];
    }
    round->n_late = n_late;
    round->n_full = n_full;
}
#endif

ADAREG_UNUSED static void adareg_root_rounds(adareg_root_round *r)
{
#if ADAREG_EIGHTS
    if (r->cyclic) {
        adareg_root_rounds_cyclic(r);
        return;
    }
#endif
    adareg_root_rounds_by_fours(r);
}

#endif
