"""A domain: the half-space Σ w_i ≤ r, weights that share a budget."""
from sklearn_adareg._kernels.domains._domains cimport STALLED, Domain


cdef class Budget(Domain):
    """The projection in the norm of H⁻¹: c = u − μ H1 with μ = (Σ u_i − r)/(1ᵀH1), so that w = H⁻¹(u − c) = μ1."""

    def bring_inside(self, c):
        c -= max(0.0, c.sum() - self.radius) / len(c)

    cdef bint contains(self, const double* c) noexcept nogil:
        return not self.gauge_exceeds(self.gauge(c, self.d, 1))

    cdef double gauge(self, const double* c, Py_ssize_t n, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(n):
            total += c[i * stride]
        return total

    cdef bint gauge_exceeds(self, double gauge) noexcept nogil:
        return gauge > self.radius

    cdef void project_diagonal(self, double* c, const double* h) noexcept nogil:
        self.descend(c, h)

    cdef int project_full(self, double* c, double* w, const double* H, Py_ssize_t ldh, const double* units,
                          const double* start) noexcept nogil:
        cdef Py_ssize_t i, j
        cdef double mu
        for i in range(self.d):                  # w is H1 for now, in the units of the coordinates
            w[i] = 0.0
            for j in range(self.d):
                w[i] += H[i * ldh + j] / (1.0 if units == NULL else units[i] * units[j])
        mu = self.descend(c, w)
        for i in range(self.d):
            w[i] = mu
        return 0 if self.accepts(c) else STALLED

    cdef double descend(self, double* c, const double* direction) noexcept nogil:
        """c −= μ direction with the μ that ends on the boundary, or within rounding inside; μ."""
        cdef Py_ssize_t i, attempt
        cdef double step, mu = 0.0, total = 0.0
        for i in range(self.d):
            total += direction[i]
        for attempt in range(60):                # once, and again for what rounding leaves
            if self.contains(c):
                break
            step = (<Py_ssize_t> 1 << attempt) * (self.gauge(c, self.d, 1) - self.radius) / total
            mu += step
            for i in range(self.d):
                c[i] -= step * direction[i]
        return mu
