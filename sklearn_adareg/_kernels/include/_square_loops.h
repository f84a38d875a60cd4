/* The loops over matrices; a part of "_loops.h", which defines the words it is written in. */
#ifndef ADAREG_SQUARE_LOOPS_H
#define ADAREG_SQUARE_LOOPS_H

/* A += a v vᵀ, A symmetric and D × D, both triangles */
ADAREG_CLONES static void adareg_rank_one(double a, adareg_in v, adareg_out A, ptrdiff_t D)
{
    for (ptrdiff_t i = 0; i < D; i++) {
        const double w = a * v[i];
        for (ptrdiff_t j = 0; j < D; j++)
            A[i * D + j] += w * v[j];
    }
}

/* Copy the triangle j > i of A[j·n + i] onto the other, in tiles that stay in cache; written in order, since stores that jump cost more
   than loads that do. */
ADAREG_UNUSED static void adareg_mirror(double *A, ptrdiff_t n)
{
    for (ptrdiff_t a = 0; a < n; a += 16)
        for (ptrdiff_t b = 0; b <= a; b += 16) {
            const ptrdiff_t last = a + 16 < n ? a + 16 : n, end = b + 16 < last ? b + 16 : last;
            for (ptrdiff_t i = b; i < end; i++)
                for (ptrdiff_t j = a > i ? a : i + 1; j < last; j++)
                    A[i * n + j] = A[j * n + i];
        }
}

/* y += a x */
ADAREG_CLONES static void adareg_axpy(double a, adareg_in x, adareg_out y, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* out += Σ_j w_j row_j, rows of a matrix by number (or, without numbers, the first n), four at a time */
ADAREG_CLONES static void adareg_combine(adareg_in matrix, ptrdiff_t stride, const int *index, adareg_in w, ptrdiff_t n,
                                         adareg_out out, ptrdiff_t D)
{
    ptrdiff_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const double *a = matrix + (index ? index[j] : j) * stride, *b = matrix + (index ? index[j + 1] : j + 1) * stride;
        const double *c = matrix + (index ? index[j + 2] : j + 2) * stride;
        const double *d = matrix + (index ? index[j + 3] : j + 3) * stride;
        const double p = w[j], q = w[j + 1], r = w[j + 2], t = w[j + 3];
        for (ptrdiff_t i = 0; i < D; i++)
            out[i] += (p * a[i] + q * b[i]) + (r * c[i] + t * d[i]);
    }
    for (; j < n; j++) {
        const double *a = matrix + (index ? index[j] : j) * stride;
        for (ptrdiff_t i = 0; i < D; i++)
            out[i] += w[j] * a[i];
    }
}

#if defined(__GNUC__)
/* Four numbers, anywhere in memory. For loops that GCC would vectorise across rows, transposing them on the way. */
typedef double adareg_vector __attribute__((vector_size(32), aligned(8), may_alias));
#define ADAREG_VECTOR(address) (*(adareg_vector *)(address))
#endif

/* A += Σ_k g_k g_kᵀ of m rows g, A symmetric and D × D, both triangles; for a D of a few cache lines. Eight columns of two rows at a
   time stay in registers. */
ADAREG_CLONES static void adareg_add_squares(const double *g, ptrdiff_t m, double *A, ptrdiff_t D)
{
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    for (; i + 2 <= D; i += 2) {
        double *one = A + i * D, *two = one + D;
        ptrdiff_t j = 0;
        for (; j + 8 <= D; j += 8) {
            adareg_vector a = ADAREG_VECTOR(one + j), b = ADAREG_VECTOR(one + j + 4);
            adareg_vector c = ADAREG_VECTOR(two + j), d = ADAREG_VECTOR(two + j + 4);
            for (ptrdiff_t k = 0; k < m; k++) {
                const double *row = g + k * D;
                const adareg_vector left = ADAREG_VECTOR(row + j), right = ADAREG_VECTOR(row + j + 4);
                a += row[i] * left;
                b += row[i] * right;
                c += row[i + 1] * left;
                d += row[i + 1] * right;
            }
            ADAREG_VECTOR(one + j) = a;
            ADAREG_VECTOR(one + j + 4) = b;
            ADAREG_VECTOR(two + j) = c;
            ADAREG_VECTOR(two + j + 4) = d;
        }
        for (; j < D; j++)
            for (ptrdiff_t k = 0; k < m; k++) {
                one[j] += g[k * D + i] * g[k * D + j];
                two[j] += g[k * D + i + 1] * g[k * D + j];
            }
    }
#endif
    for (; i < D; i++)
        for (ptrdiff_t j = 0; j < D; j++)
            for (ptrdiff_t k = 0; k < m; k++)
                A[i * D + j] += g[k * D + i] * g[k * D + j];
}

/* out_i = row_i · b, the rows of a D × D matrix, four at a time */
ADAREG_CLONES static void adareg_dots(adareg_in matrix, adareg_in b, adareg_out out, ptrdiff_t D)
{
    ptrdiff_t i = 0;
#if defined(__GNUC__)
    for (; i + 4 <= D; i += 4) {
        const double *rows = matrix + i * D;
        adareg_vector p = {0}, q = p, r = p, t = p;
        ptrdiff_t j = 0;
        for (; j + 4 <= D; j += 4) {
            const adareg_vector of = ADAREG_VECTOR(b + j);
            p += of * ADAREG_VECTOR(rows + j);
            q += of * ADAREG_VECTOR(rows + D + j);
            r += of * ADAREG_VECTOR(rows + 2 * D + j);
            t += of * ADAREG_VECTOR(rows + 3 * D + j);
        }
        for (; j < D; j++) {
            p[0] += b[j] * rows[j];
            q[0] += b[j] * rows[D + j];
            r[0] += b[j] * rows[2 * D + j];
            t[0] += b[j] * rows[3 * D + j];
        }
        out[i] = (p[0] + p[2]) + (p[1] + p[3]);
        out[i + 1] = (q[0] + q[2]) + (q[1] + q[3]);
        out[i + 2] = (r[0] + r[2]) + (r[1] + r[3]);
        out[i + 3] = (t[0] + t[2]) + (t[1] + t[3]);
    }
#endif
    for (; i < D; i++) {
        double total = 0.0;
        for (ptrdiff_t j = 0; j < D; j++)
            total += matrix[i * D + j] * b[j];
        out[i] = total;
    }
}

#endif
