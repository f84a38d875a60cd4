# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, freethreading_compatible=True
"""The weights and matrices of Newton lanes, and what happens to all of them when a unit changes.

The first lanes keep G⁻¹, in O(D²) a row; the others only the diagonal of G, in O(D), which is enough for members of short memory: few
rows cannot tell a whole matrix.

A lane with λ < 1 forgets: after each round G ← λG + (1 − λ)G_0, G_0 the ridges of its features. What is taken must come back in
every direction, or directions that no row touches would be steps of any length. G⁻¹ is kept by rank-one corrections, so the prior
comes back along one of the n coordinates at a time, n(1 − λ) times as much, in turn; several in a round where n(1 − λ) > 1.
"""
from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memset

from ._loops cimport axpy, dot

import numpy as np

cdef double LARGEST_INFLATION = 1e8


cdef class Members:
    """L lanes over D coordinates. What is changed before a round is certain to stand is logged in ``undo``."""

    @staticmethod
    def allocate(Setting setting, double ridge_of_intercept):
        whole, L, D, d = setting.whole_lanes, setting.L, setting.D, setting.d
        arrays = {**Inverse.allocate(whole, D, 1.0), "diagonal": np.zeros((L - whole, D)), "inflation": np.ones(whole)}
        arrays["P"][:] = arrays["G"][:] = 0.0
        if setting.intercept:
            arrays["P"][:, d, d] = 1.0 / ridge_of_intercept
            arrays["G"][:, d, d] = arrays["diagonal"][:, d] = ridge_of_intercept
        return arrays

    def __init__(self, Setting setting, dict arrays, UndoLog undo, bint explicit):
        cdef double[:, :, ::1] cells = arrays["cells"]
        fields = arrays["fields"]
        self.setting, self.inverse, self.undo = setting, Inverse(arrays, explicit, explicit), undo
        self.L, self.D, self.whole = setting.L, setting.D, setting.whole_lanes
        self.x = &cells[0, 0, 0]
        self.u = &cells[fields.index("u"), 0, 0] if "u" in fields else NULL
        self.numbers = arrays["cells"].size
        self.diagonal, self.inflation, self.weights = arrays["diagonal"], arrays["inflation"], np.zeros(setting.L)

    # ---- the undo log -----------------------------------------------------------------------------------------------

    cdef void begin_round(self) noexcept nogil:
        self.undo.clear()
        self.weights_saved = self.matrices_saved = False

    cdef void save_weights(self) noexcept nogil:
        if self.weights_saved:
            return
        self.undo.save(self.x, self.numbers)
        self.undo.save(&self.inverse.count[0], self.whole)
        if self.L > self.whole:
            self.undo.save(&self.diagonal[0, 0], (self.L - self.whole) * self.D)
        self.weights_saved = True

    cdef void save_matrices(self) noexcept nogil:
        self.save_weights()
        if not self.matrices_saved:
            self.inverse.save(self.undo, 0, self.whole)
            self.matrices_saved = True

    # ---- units, of all lanes at once ----------------------------------------------------------------------------------

    cdef void shift(self, Py_ssize_t i, double by) noexcept nogil:
        """Feature i is measured from ``by`` further on: the intercept makes up for it, and so do the matrices."""
        cdef Py_ssize_t b = self.D - 1
        cdef Py_ssize_t l
        self.save_weights()
        for l in range(self.L):
            if l < self.whole:
                if not self.matrices_saved:
                    self.inverse.save_shift(self.undo, l, i, b)
                self.inverse.shift(l, i, b, by)
            self.x[l * self.D + b] += by * self.x[l * self.D + i]
            if self.u != NULL:
                self.u[l * self.D + b] += by * self.u[l * self.D + i]

    cdef void start(self, Py_ssize_t i, double growth) noexcept nogil:
        """Feature i enters the matrices, by itself, with a ridge of ε times ``growth``."""
        cdef Py_ssize_t l
        cdef double ridge
        for l in range(self.L):
            ridge = self.setting.epsilons[l] * growth
            if l < self.whole:
                self.undo.save(&self.inverse.P[l, i, i], 1)
                self.undo.save(&self.inverse.G[l, i, i], 1)
                self.inverse.start(l, i, self.inflation[l] * ridge)
            else:
                self.undo.save(&self.diagonal[l - self.whole, i], 1)
                self.diagonal[l - self.whole, i] = ridge

    cdef void raise_ridge(self, Py_ssize_t i, double growth, bint jumps) noexcept nogil:
        """Ridges grow by ε times ``growth``, a pseudo-row (e_i, 0): x ← x − growth x_i P e_i / (1 + growth P_ii); so the average."""
        cdef Py_ssize_t l
        cdef double ridge, kept
        cdef double* G
        self.save_weights()
        for l in range(self.L):
            ridge = self.setting.epsilons[l] * growth
            if l < self.whole:
                if jumps or self.inverse.changes_matrices(l):
                    self.save_matrices()
                self.raise_whole(l, i, self.inflation[l] * ridge, jumps)
                continue
            G = &self.diagonal[l - self.whole, i]
            kept = G[0] / (G[0] + ridge)
            G[0] += ridge
            self.x[l * self.D + i] *= kept
            if self.u != NULL:
                self.u[l * self.D + i] *= kept

    cdef void raise_whole(self, Py_ssize_t lane, Py_ssize_t i, double growth, bint jumps) noexcept nogil:
        cdef Py_ssize_t D = self.D
        cdef double* x = self.x + lane * D
        cdef double* u = self.u + lane * D if self.u != NULL else NULL
        cdef double* v
        cdef double weight, x_i, root = sqrt(growth)
        if jumps:                                # corrections that wait know of a much larger P_ii
            self.inverse.fold(lane)
        weight = self.along(lane, i, growth)
        v = self.inverse.next_v(lane)
        x_i = x[i]
        axpy(-weight * root * x_i, v, x, D)
        x[i] = weight * x_i                      # the same, without cancellation
        if u != NULL:
            x_i = u[i]
            axpy(-weight * root * x_i, v, u, D)
            u[i] = weight * x_i
        if weight != 1.0 and not (jumps and self.inverse.raise_anew(lane, i, growth)):
            self.inverse.commit(lane, weight)

    cdef void take_out(self, Py_ssize_t i, bint entered) noexcept nogil:
        """Withdraw the weight of feature i as by an infinite ridge, x ← x − x_i P e_i / P_ii, and take it out of the matrices."""
        cdef Py_ssize_t l
        cdef Py_ssize_t D = self.D
        self.save_matrices()
        if not entered:
            return
        for l in range(self.L):
            if l < self.whole:
                self.inverse.fold(l)
                withdraw(&self.inverse.P[l, i, 0], i, self.x + l * D, D)
                if self.u != NULL:
                    withdraw(&self.inverse.P[l, i, 0], i, self.u + l * D, D)
                self.inverse.remove(l, i)
                continue
            self.diagonal[l - self.whole, i] = self.x[l * D + i] = 0.0
            if self.u != NULL:
                self.u[l * D + i] = 0.0

    # ---- one lane -----------------------------------------------------------------------------------------------------

    cdef double along(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """Propose a pseudo-row √growth e_i; returns 1 / (1 + growth P_ii). ``growth`` is inflated."""
        cdef double* g = self.inverse.next_g(lane)
        cdef double* v = self.inverse.next_v(lane)
        cdef int index = <int> i
        memset(g, 0, self.D * sizeof(double))
        g[i] = sqrt(growth)
        self.inverse.times_sparse(lane, &index, &g[i], 1, v)
        return 1.0 / (1.0 + g[i] * v[i])

    cdef void pull(self, Py_ssize_t lane, Py_ssize_t i, double growth, double C) noexcept nogil:
        """A pseudo-row along e_i of this weight and of target 0, which steps as the rows do, in a round of averaging weight C."""
        cdef Py_ssize_t D = self.D
        cdef double* x = self.x + lane * D
        cdef double* G
        cdef double weight, step, eta = self.setting.eta[lane]
        if lane < self.whole:
            growth *= self.inflation[lane]
            weight = self.along(lane, i, growth)
            step = eta * sqrt(growth) * x[i] * weight / (weight + (1.0 + eta) * (1.0 - weight))
            if not isfinite(step):               # P has lost its digits, or its numbers: x stays, as in ``threshold``
                return
            self.move_along(lane, step, C)
            if weight != 1.0:
                self.inverse.commit(lane, weight)
            return
        G = &self.diagonal[lane - self.whole, i]
        step = eta * x[i] * growth / (G[0] + (1.0 + eta) * growth)
        G[0] += growth
        x[i] -= step
        if self.u != NULL:
            self.u[lane * D + i] -= C * step

    cdef double threshold(self, Py_ssize_t lane, Py_ssize_t i, double most, double C) noexcept nogil:
        """The prox of most·|x_i| in the norm of P⁻¹, which moves x along P e_i until x_i is 0, and at the most by ``most``; by how
        much. Not finite where P_ii is 0 or has lost its digits: then x stays."""
        cdef double* x = self.x + lane * self.D
        cdef double root = sqrt(self.inflation[lane]) if lane < self.whole else 1.0
        cdef double taken, inverse
        if lane < self.whole:
            self.along(lane, i, self.inflation[lane])
            inverse = root * self.inverse.next_v(lane)[i]
        else:
            inverse = 1.0 / self.diagonal[lane - self.whole, i]
        taken = x[i] / inverse
        taken = most if taken > most else (-most if taken < -most else taken)
        if not isfinite(taken):
            return taken
        if lane < self.whole:
            self.move_along(lane, taken * root, C)
        else:
            x[i] -= taken * inverse
            if self.u != NULL:
                self.u[lane * self.D + i] -= C * taken * inverse
        if fabs(taken) < most:
            x[i] = 0.0
        return taken

    cdef void move_along(self, Py_ssize_t lane, double step, double C) noexcept nogil:
        """x −= step v of the pseudo-row just proposed, and the average with it."""
        if self.u != NULL:
            axpy(-C * step, self.inverse.next_v(lane), self.u + lane * self.D, self.D)
        axpy(-step, self.inverse.next_v(lane), self.x + lane * self.D, self.D)

    cdef double find_direction(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n) noexcept nogil:
        """q = zᵀ P z; P z itself is kept for ``move`` and ``propose``."""
        cdef Py_ssize_t i, j
        cdef Py_ssize_t D = self.D
        cdef double q = 0.0, root
        cdef double* v
        cdef double* g
        cdef const double* G
        if lane >= self.whole:
            G = &self.diagonal[lane - self.whole, 0]
            for j in range(n):
                i = index[j] if index != NULL else j
                if G[i] > 0.0:
                    q += z[j] * z[j] / G[i]
            return q
        v, g = self.inverse.next_v(lane), self.inverse.next_g(lane)
        root = sqrt(self.inflation[lane])
        memset(g, 0, D * sizeof(double))
        for j in range(n):
            g[index[j] if index != NULL else j] = root * z[j]
        if index == NULL:
            self.inverse.times(lane, g, v)
        elif root == 1.0:
            self.inverse.times_sparse(lane, index, z, n, v)
        else:
            self.inverse.times_sparse(lane, index, z, n, v)
            for i in range(D):
                v[i] *= root
        return dot(g, v, D)

    cdef double move(self, Py_ssize_t lane, double factor, const int* index, const double* z, Py_ssize_t n,
                     double* out) noexcept nogil:
        """out = factor P z; a number that is finite only if all of them are."""
        cdef Py_ssize_t i, j
        cdef const double* v
        cdef const double* G
        if lane < self.whole:
            v = self.inverse.next_v(lane)
            factor *= sqrt(self.inflation[lane])
            for i in range(self.D):
                out[i] = factor * v[i]
            return fabs(factor) * dot(v, v, self.D)      # v is in units in which its squares are numbers
        memset(out, 0, self.D * sizeof(double))
        G = &self.diagonal[lane - self.whole, 0]
        for j in range(n):
            i = index[j] if index != NULL else j
            if G[i] > 0.0:
                out[i] = factor * z[j] / G[i]
        return dot(out, out, self.D)

    cdef void propose(self, Py_ssize_t lane, double w, double q) noexcept nogil:
        """Let √w z be what enters G with ``enter``."""
        cdef Py_ssize_t i
        cdef double root = sqrt(w)
        cdef double* v
        cdef double* g
        self.weights[lane] = 0.0
        if not w * q > 0.0:
            return
        if lane >= self.whole:
            self.weights[lane] = w
            return
        v, g = self.inverse.next_v(lane), self.inverse.next_g(lane)
        for i in range(self.D):
            v[i] *= root
            g[i] *= root
        self.weights[lane] = 1.0 / (1.0 + w * q)

    cdef void enter(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n) noexcept nogil:
        """The round stands: G takes what was proposed."""
        cdef Py_ssize_t i, j
        cdef double* G
        if self.weights[lane] == 0.0:
            return
        if lane < self.whole:
            self.inverse.commit(lane, self.weights[lane])
            return
        G = &self.diagonal[lane - self.whole, 0]
        for j in range(n):
            i = index[j] if index != NULL else j
            if G[i] > 0.0:
                G[i] += self.weights[lane] * z[j] * z[j]

    cdef void forget(self, Py_ssize_t lane) noexcept nogil:
        """G ← λG; ``return_prior`` comes next."""
        cdef Py_ssize_t i
        cdef double kept = self.setting.kept[lane]
        if lane >= self.whole:
            for i in range(self.D):
                self.diagonal[lane - self.whole, i] *= kept
            return
        self.inflation[lane] /= kept
        if self.inflation[lane] > LARGEST_INFLATION:
            self.inverse.fold(lane)
            for i in range(self.D * self.D):
                (&self.inverse.P[lane, 0, 0])[i] *= self.inflation[lane]
                (&self.inverse.G[lane, 0, 0])[i] /= self.inflation[lane]
            self.inflation[lane] = 1.0

    cdef void return_prior(self, Py_ssize_t lane, Py_ssize_t i, double growth) noexcept nogil:
        """G_ii += growth, and x stays."""
        cdef double weight
        if not growth > 0.0:                     # a feature that was taken out
            return
        if lane >= self.whole:
            self.diagonal[lane - self.whole, i] += growth
            return
        weight = self.along(lane, i, self.inflation[lane] * growth)
        if weight != 1.0:
            self.inverse.commit(lane, weight)

    cdef void explicit(self, Py_ssize_t lane, const int* index, const double* z, Py_ssize_t n, double* H) noexcept nogil:
        """P with the proposed row in it, both triangles; 1 on the diagonal for a feature that is in no matrix."""
        cdef Py_ssize_t i, j
        cdef double G
        if lane < self.whole:
            self.inverse.explicit(lane, self.weights[lane], self.inflation[lane], H)
        else:
            memset(H, 0, self.D * self.D * sizeof(double))
            for i in range(self.D):
                G = self.diagonal[lane - self.whole, i]
                H[i * self.D + i] = 1.0 / G if G > 0.0 else 0.0
            for j in range(n):
                i = index[j] if index != NULL else j
                H[i * self.D + i] /= 1.0 + self.weights[lane] * z[j] * z[j] * H[i * self.D + i]
        for i in range(self.D):
            if H[i * self.D + i] == 0.0:
                H[i * self.D + i] = 1.0


cdef void withdraw(const double* P_i, Py_ssize_t i, double* x, Py_ssize_t D) noexcept nogil:
    axpy(-x[i] / P_i[i], P_i, x, D)
    x[i] = 0.0
