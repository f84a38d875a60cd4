"""What every structure is: the verbs of one round, over L weight vectors that read the row together.

A round calls ``enter`` (bring the touched coordinates together), ``predict``, ``accumulate`` (G_t), ``precondition`` (H_t) and
``update`` (x_{t+1}, projected; the average moves along), or ``learn``, where a structure does those three in one pass, or ``rest``
when no weight vector has a slope. The round is a transaction: what these verbs change before ``update`` has succeeded is scratch, or
is undone by ``abandon``, which a round that fails calls last.

Under online scaling the row arrives in units of the largest value that each feature has had, and x lives in those units: it
stays as it is when a unit grows, so the raw weight shrinks, and G is carried over to the new unit.

The average Σ c_t x_t = C_T x_{T+1} − Σ C_s δ_s needs only the steps δ: ``u`` accumulates C_s δ_s, and costs what the step costs.
With a half-life, C_t = λ C_{t−1} + c_t, u_t = λ u_{t−1} + C_t δ_t, and x − u/C is the average with weights c_t λ^(T−t).
"""
from libc.math cimport sqrt

from ..domains._domains cimport NoDomain
from ..state._setting cimport Clock, Forgetting

import numpy as np


cdef class Structure:
    """A structure bound to the arrays of one state."""

    @classmethod
    def mismatch(cls, Setting setting, dict arrays):
        """Why saved arrays, which have the shapes of new ones, are none of this structure, in a clause; None if they are."""
        return None

    def __init__(self, Setting setting, Potential potential, Domain domain, dict arrays):
        self.setting, self.potential, self.domain, self.arrays = setting, potential, domain, arrays
        self.penalised = setting.l2 > 0.0 or setting.l1 > 0.0
        self.always_steps = (self.penalised or (setting.scaled and setting.start != 0.0)
                             or ((potential.time_varying or setting.forgotten > 0.0) and setting.dual))
        self.memory = Forgetting(setting) if setting.forgotten > 0.0 else None
        self.unconstrained = isinstance(domain, NoDomain)
        self.projects_whole = not (self.unconstrained or domain.coordinatewise)
        self.clock = potential.clock = Clock(setting, arrays["clock"])
        self.scale = FeatureScale(arrays, setting.forgetting) if setting.scaled else None
        self.rho, self.loss_units, self.weighted_slopes = np.ones(setting.L), np.ones(setting.L), np.empty(setting.L)
        self.inactive = np.zeros(setting.all_vectors, dtype=np.uint8)
        self.curvatures = self.average_margins = NULL
        cdef double epsilon = setting.epsilon
        cdef double longest = 0.0
        if not potential.fallible:
            potential.steps(&epsilon, &longest, 1)
        self.longest_step = longest * float(np.max(setting.eta))

    def prepare(self, Py_ssize_t widest):
        """Make room for rows that touch up to ``widest`` coordinates."""
        if self.scale is not None:
            self.scale.make_room(widest)

    def in_raw_units(self, weights, *at):
        """Weights (L, D) of the coordinates that the structure works in as weights of the features themselves.

        ``at``, here and in what else is published: the coordinates that are asked for, where a structure goes ``by_columns``;
        without it all of them."""
        return FeatureScale.in_raw_units(self.arrays, weights, *at) if self.setting.scaled else weights

    def mixture(self, of_averages, of_iterates, *at):
        """Σ_r (of_averages[k, r] average + of_iterates[k, r] iterate) of the weight vectors r·K + k, (K, D)."""
        K, R = self.setting.K, self.setting.R
        iterates = self.last_iterate(*at).reshape(R, K, -1)
        averages = self.average(*at).reshape(R, K, -1) if self.setting.averaging else iterates
        total = np.zeros(iterates.shape[1:])     # by sums that do not depend on how many columns there are
        for r in range(R):
            total += of_averages[:, r, None] * averages[r]
            total += of_iterates[:, r, None] * iterates[r]
        return total

    def from_raw_units(self, weights):
        """The inverse of ``in_raw_units``."""
        return FeatureScale.from_raw_units(self.arrays, weights) if self.setting.scaled else weights

    def restart(self, x, subgradient):
        """Go on from other points (L, D), as if all iterates had been there; ``subgradient`` (L, D) of the L1 penalty there."""
        self.field("x")[:] = x
        if self.setting.averaging:
            self.field("u")[:] = 0.0

    def residual_rates(self):
        """What steps are multiplied with between rounds, in the units of residuals, and the unit of the gradients, each (L, 1)."""
        rate, unit = np.ones((self.setting.L, 1)), np.ones((self.setting.L, 1))
        if "residuals" in self.arrays and self.arrays["weight"][0] > 0.0:
            rho = np.sqrt(self.arrays["residuals"][:, None] / self.arrays["weight"][0])
            rate = np.where(rho > 0.0, rho, 1.0)
            unit = rate if self.setting.degree != 1 else unit
        if self.setting.counted and self.arrays["weight"][0] > 0.0:
            mean = self.arrays["curvatures"][:, None] / self.arrays["weight"][0]
            rate = np.where(rho > 0.0, rate / np.where(mean > 0.0, mean, 1.0), 1.0)
        return rate, unit

    def with_zeros(self, weights, shares):
        """Weights (K, D) that an average made dense with the zeros that an L1 penalty asks for.

        ``shares``, (K, R), say how much each of the weight vectors that were combined counts.
        """
        raise NotImplementedError

    def accumulated(self):
        """P_S G of each weight vector as it is kept: (L, D, D) matrices, (L, D) diagonals, or (L,) multiples of the identity."""
        raise NotImplementedError

    def spectrum(self):
        """The D eigenvalues of P_S G of each weight vector, (L, D)."""
        G = self.accumulated()
        if G.ndim == 3:
            return np.linalg.eigvalsh(G)
        return np.broadcast_to(G if G.ndim == 2 else G[:, None], (self.setting.L, self.setting.D))

    def preconditioner(self):
        """H = η ψ(P_S G) of each weight vector, in the same form."""
        G = self.accumulated()
        rates = np.asarray(self.setting.eta)
        if G.ndim < 3:
            h = self.potential(np.ascontiguousarray(G.ravel())).reshape(G.shape)
            return (rates * h.T).T
        H = np.empty_like(G)
        for vector in range(self.setting.L):
            values, vectors = np.linalg.eigh(G[vector])
            h = rates[vector] * self.potential(np.maximum(values, self.setting.epsilon))
            H[vector] = (vectors * h) @ vectors.T
        return H

    cdef bint wants_curvatures(self, bint steep) noexcept nogil:
        """Whether steps look at the curvature of the loss; ``steep``: its slopes are unbounded."""
        return False

    cdef void bind_loss(self, const double* curvatures, bint steep) noexcept nogil:
        """What to know about the loss of the rounds to come."""
        self.curvatures, self.steep = curvatures, steep

    cdef double weight_root(self) noexcept nogil:
        """What gradients are divided by as they enter G: √ω where a row of weight ω is to count as ω rows (with ω² in G and ω in
        the step, heavy rows would move ONS least)."""
        return sqrt(self.round_weight) if self.setting.weights_as_rows and self.round_weight != 1.0 else 1.0

    cdef const double* entering(self, const double* slopes) noexcept nogil:
        """Slopes as they enter G."""
        cdef Py_ssize_t l
        cdef double root = self.weight_root()
        if root == 1.0:
            return slopes
        for l in range(self.setting.L):
            self.weighted_slopes[l] = slopes[l] / root
        return &self.weighted_slopes[0]

    cdef bint look_up(self, Row* row, Py_ssize_t k, const double* of_averages, const double* of_iterates,
                      double* margin) noexcept nogil:
        """The margin of a raw row under what would be published of output k, between rounds; ``published`` has the combination, and
        either part may be NULL. False where only ``published`` itself knows."""
        return False

    cdef void enter(self, Row* row) noexcept nogil:
        pass

    cdef void predict(self, Row* row, double* margins) noexcept nogil:
        pass

    cdef int accumulate(self, Row* row, const double* slopes) noexcept nogil:
        return POTENTIAL_RAISED

    cdef int precondition(self, Row* row) noexcept nogil:
        return POTENTIAL_RAISED

    cdef int update(self, Row* row) noexcept nogil:
        return POTENTIAL_RAISED

    cdef void learn(self, Row* row, const double* slopes) noexcept nogil:
        pass

    cdef int rest(self, Row* row) noexcept nogil:
        return 0

    cdef void abandon(self, Row* row) noexcept nogil:
        """Undo what the verbs before ``update`` did to the state."""
        pass


cdef class Matrices:
    """Numbered matrices G, each of a weight vector or of a block of one, and what is done with H = η ψ(G) of them.

    A round proposes: what ``step`` does is scratch until ``commit``.
    """

    def accumulated(self):
        """G of each, with what waits to join it."""
        raise NotImplementedError

    def preconditioner(self, G, rates):
        """H of the last step of each, with these η; ``G`` is what the structure makes of ``accumulated``."""
        raise NotImplementedError

    cdef int step(self, Py_ssize_t e, double* g, const double* b, Row* row, double slope, double root, double eta,
                  double* out) noexcept nogil:
        """out = H_t b, where g/root joins G_t: b is g, or a sum of gradients. Where ``row`` is not NULL, g is slope times the row."""
        return POTENTIAL_RAISED

    cdef void commit(self, Py_ssize_t e, double* g, Py_ssize_t n=1) noexcept nogil:
        """The round stands: G forgets, and takes its gradients."""
        pass

    cdef void pass_by(self, Py_ssize_t e, double kept, double lost) noexcept nogil:
        """Rounds without a gradient stand, of which G keeps so much; ``lost`` is the rest."""
        pass

    cdef int explicit(self, Py_ssize_t e, bint touched, double eta, double* H) noexcept nogil:
        """H of the round under way, or as it is where the round does not touch it, both triangles."""
        return POTENTIAL_RAISED

    cdef bint explicit_anew(self, Py_ssize_t e, const double* g, double eta, double* H) noexcept nogil:
        """The same in another way, after the first gave a matrix that is not positive definite; whether there is one."""
        return False

    cdef void save(self, UndoLog log, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
        """Log what ``pass_by``, ``carry`` and ``solve`` change."""
        pass

    cdef void carry(self, Py_ssize_t e, Py_ssize_t i, double growth) noexcept nogil:
        """G's row and column i over the growth (G_ii twice), and ε made up for."""
        pass

    cdef int solve(self, Py_ssize_t e, double* b, double eta, double* out) noexcept nogil:
        """out = H⁻¹b, H of G as it is; b may change."""
        return POTENTIAL_RAISED
