cimport cython
from libc.math cimport exp, expm1, pow

cdef enum:
    TABLED = 1024                # powers of λ that are looked up


@cython.final
cdef class Setting:
    cdef readonly Py_ssize_t d, D             # coefficients, and coordinates with the intercept
    cdef readonly Py_ssize_t K, R, L          # weight vectors, step sizes that learn side by side, and weight vectors L = K·R
    cdef readonly bint recent                 # each weight vector has one more iterate, with a short memory:
    cdef readonly Py_ssize_t all_vectors        # L and, behind the weight vectors, those
    cdef readonly bint intercept, joint, dual, averaging, scaled
    cdef readonly bint relative, shifted      # residuals in units of their own; margins measured from an offset
    cdef readonly int degree                  # of the loss in the unit of the residual
    cdef readonly bint counted                # a log link, curvatures in units of their mean
    cdef readonly bint zeros                  # of an L1 penalty are restored where the average is published
    cdef readonly bint weights_as_rows        # a row of weight ω enters G as ω rows; the paper's g gᵀ has ω² there
    cdef readonly double epsilon, l2, l1, gamma, start, refresh
    cdef readonly double forgetting           # λ = 2^(−1/h) per round; 1: nothing is forgotten
    cdef readonly double forgotten            # 1 − λ
    cdef double[::1] eta                      # per weight vector
    cdef readonly object blocks               # the block of each coefficient, or None
    cdef readonly Py_ssize_t rank             # of a sketch; 0: there is none


@cython.final
cdef class Clock:
    cdef double[::1] owner
    cdef double* now             # rounds and averaging weight so far
    cdef double gamma
    cdef double forgetting, forgotten, log_forgetting
    cdef int whole               # γ where it is a small whole number, else −1
    cdef double t, c, C          # of the round under way; between rounds t is the number of rounds so far
    cdef double tau              # Σ λ^(t−s) over the rounds s: t where nothing is forgotten

    cdef inline void begin_round(self) noexcept nogil:
        cdef int power
        cdef double square
        self.t = self.now[0] + 1.0
        if self.whole < 0:
            self.c = pow(self.t, self.gamma)
        else:                    # by squaring: pow would be a tenth of a round
            self.c, square, power = 1.0, self.t, self.whole
            while power:
                if power & 1:
                    self.c *= square
                square *= square
                power >>= 1
        self.C = self.forgetting * self.now[1] + self.c
        self.tau = self.t if self.forgotten == 0.0 else self.discounted(self.t)

    cdef inline double discounted(self, double rounds) noexcept nogil:
        return expm1(rounds * self.log_forgetting) / -self.forgotten

    cdef inline void commit(self) noexcept nogil:
        self.now[0] = self.t
        self.now[1] = self.C

    cdef inline void end_rounds(self) noexcept nogil:
        """After a round that failed, too."""
        self.t = self.now[0]


@cython.final
cdef class Forgetting:
    cdef double lam              # λ
    cdef double lost             # 1 − λ
    cdef double log_lam
    cdef double[::1] powers, losses

    cdef inline double after(self, double rounds) noexcept nogil:
        """λ^rounds: what is kept."""
        return self.powers[<Py_ssize_t> rounds] if rounds < TABLED else exp(rounds * self.log_lam)

    cdef inline double lost_after(self, double rounds) noexcept nogil:
        """1 − λ^rounds, also where that is tiny."""
        return self.losses[<Py_ssize_t> rounds] if rounds < TABLED else -expm1(rounds * self.log_lam)


cdef inline void keep(double* G, Py_ssize_t n, double kept, double prior) noexcept nogil:
    """n numbers of a diagonal G keep so much, and the prior comes back."""
    cdef Py_ssize_t i
    for i in range(n):
        G[i] = kept * G[i] + prior


cdef inline void keep_matrix(double* G, Py_ssize_t D, double kept, double prior) noexcept nogil:
    """The same of a D × D matrix, whose diagonal the prior is on."""
    cdef Py_ssize_t i
    for i in range(D * D):
        G[i] *= kept
    for i in range(D):
        G[i * D + i] += prior
