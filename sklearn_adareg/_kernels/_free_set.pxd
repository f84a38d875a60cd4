# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
# Projections onto polyhedra by the inverse of the norm's matrix, where that is at hand and few coordinates are free.


cdef class FreeSet:
    cdef readonly Py_ssize_t d       # coefficients
    cdef readonly Py_ssize_t n       # and an intercept, if there is one
    cdef readonly long steps         # of the last call
    cdef double* K                   # n × n, both triangles
    cdef double* a                   # where the quadratic is measured from,
    cdef double* f                   # its linear part,
    cdef double* x                   # the point, at first one that is thought to be near,
    cdef double* w                   # and the negative gradient there
    cdef double[::1] _matrices
    cdef double[::1] _vectors
    cdef double* block               # a Cholesky factor of the free rows and columns
    cdef double* right
    cdef double* root                # √K_ii
    cdef double* inverse             # 1 / K_ii
    cdef double* unit
    cdef const double* G
    cdef const double* g
    cdef double* over_unit
    cdef double* alone               # 1/K_ii of what is not in G, 0 of others
    cdef const double* P             # of G, or NULL: P − weight v vᵀ of G + g gᵀ,
    cdef const double* v
    cdef double weight
    cdef const double* u             # and the point without a domain
    cdef double* parts[5]            # x, w, a, f, root, for the loops
    cdef double* moved
    cdef double* product
    cdef int[::1] _free
    cdef Py_ssize_t n_free
    cdef signed char[::1] _state

    cdef void begin(self, const double* G, const double* g, double factor, const double* units) noexcept nogil
    cdef void load(self) noexcept nogil
    cdef void know(self, const double* P, const double* v, double weight, const double* u) noexcept nogil
    cdef void times_H(self, const double* q, Py_ssize_t m, double* out) noexcept nogil
    cdef bint few_between(self, double lower, double upper) noexcept nogil
    cdef bint few_nonzero(self) noexcept nogil
    cdef int within_bounds(self, double lower, double upper) noexcept nogil
    cdef void guess(self, double* v, double* h) noexcept nogil
    cdef int with_sum(self, const double* start, double radius, bint two_signs) noexcept nogil

    cdef void move(self, Py_ssize_t i, double to) noexcept nogil
    cdef void list_free(self, bint zero) noexcept nogil
    cdef int factor_free(self) noexcept nogil
    cdef void advance(self) noexcept nogil
    cdef void step_to_stationary(self) noexcept nogil
    cdef double measure(self) noexcept nogil
    cdef void renew_gradient(self) noexcept nogil
    cdef void refine_sum(self, double level, double slope, double radius, bint two_signs) noexcept nogil
