"""Potentials that vary with time: Algorithm 1 with ψ_t, and Theorem 1 with the changes of Φ_t."""

from functools import partial

import numpy as np
import pytest
from reference.algorithm import LOSSES, WeightVector, mean_iterate, preconditioner
from scipy import sparse
from support.data import STRUCTURES, UPDATES, core, estimator, learn, pairs, rows, target, weights_of

from sklearn_adareg import AdaReg, SpectralPotential, regret

X, SCORE = rows(0, n=40, d=4, zeros=0.5)
Y = target("log_loss", SCORE)


class Drifting(SpectralPotential):
    """ψ_t(λ) = η_t/√λ with η_t = η t^(−power): Φ_t(H) = η_t² tr H⁻¹."""

    operator_antitone = True  # for each t

    def __init__(self, eta=0.5, power=0.25):
        self.eta = eta
        self.power = power

    def rate(self, t):
        return self.eta * t**-self.power

    def psi(self, eigenvalues, t):
        assert isinstance(t, int)
        assert t >= 1
        return self.rate(t) / np.sqrt(eigenvalues)

    def value(self, steps, t):
        return self.rate(t) ** 2 * np.sum(1 / steps)


class VectorOfTime(WeightVector):
    """The reference with ψ_t: x holds x_1 … x_t when H_t is made."""

    def preconditioner(self):
        psi = partial(self.psi, t=len(self.x))
        G = self.G if self.sketch is None else self.sketch.G
        return preconditioner(G, psi, self.structure, self.epsilon, self.blocks)


def reference_run(potential, structure, update, domain, radius, Z, y):
    d = Z.shape[1]
    output = VectorOfTime(d, d, potential.psi, structure, 0.05, update, domain, radius, 0.0, 0.0, pairs(d))
    for z, label in zip(Z, y, strict=True):
        output.step(z, LOSSES["log_loss"](z @ output.x[-1], label, {})[1])
    return output


@pytest.mark.parametrize("domain", [None, "l2", "box", "simplex"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("power", [0.25, -0.25])
def test_the_rounds_equal_the_reference(power, structure, update, domain):
    Z = X.copy()
    Z[7] = 0.0  # a round without a gradient; H changes all the same
    potential, radius = Drifting(power=power), 0.4 if domain else None
    output = reference_run(potential, structure, update, domain, radius, Z, Y)
    make = {"update": update, "domain": domain, "radius": radius, "fit_intercept": False}
    for rows_of_x in (Z, sparse.csr_array(Z)):
        # refresh is not used: a decomposition is certified for one ψ only
        model = estimator(potential, structure, refresh=0.5, average=False, **make)
        learn(model, rows_of_x, Y)
        np.testing.assert_allclose(model.coef_[0], output.x[-1], rtol=1e-9, atol=1e-9)
        parts = estimator(potential, structure, average=True, **make)
        for start in range(0, 40, 7):
            learn(parts, rows_of_x[start : start + 7], Y[start : start + 7])
        mean = mean_iterate(np.array(output.x), True)
        np.testing.assert_allclose(parts.coef_[0], mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
def test_zeros_of_dense_rows_are_not_skipped_where_every_coordinate_moves(update):
    """Many weight vectors skip them otherwise; a number next to nothing is no zero."""
    classes = np.digitize(SCORE, [-2, -0.5, 0.5, 2])
    zeros, none = (
        estimator(Drifting(), "diag", update=update, average=False).fit(Z, classes)
        for Z in (X, np.where(X == 0, 1e-300, X))
    )
    assert zeros.coef_.shape == (4, 4)
    np.testing.assert_allclose(zeros.coef_, none.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scaling", [None, "online"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_dense_equals_sparse_and_chunks_equal_the_whole(structure, update, alpha, scaling):
    make = {"update": update, "alpha": alpha, "scaling": scaling}
    models = [estimator(Drifting(), structure, **make) for _ in range(3)]
    learn(models[0], X, Y)
    learn(models[1], sparse.csr_array(X), Y)
    for start in range(0, 40, 7):
        learn(models[2], X[start : start + 7], Y[start : start + 7])
    for model in models[1:]:
        np.testing.assert_allclose(weights_of(model), weights_of(models[0]), rtol=1e-9, atol=1e-12)


def test_a_round_that_fails_gives_its_number_back():
    rounds = []

    class Noting(Drifting):
        def psi(self, eigenvalues, t):
            rounds.append(t)
            return super().psi(eigenvalues, t)

    learner = AdaReg(2, Noting())
    learner.step([1.0, 1.0])
    with pytest.raises(ValueError, match="gradient is too large"):
        learner.step([1e200, 1.0])
    rounds.clear()
    np.testing.assert_allclose(learner.H, 0.5 / np.sqrt(learner.G))
    learner.step([1.0, 1.0])
    assert rounds == [1, 2]


def test_t_need_not_be_the_second_parameter_and_a_default_elsewhere_is_no_t():
    class Last(SpectralPotential):
        def psi(self, eigenvalues, root=0.5, t=None):
            return 0.5 * t**-0.25 * eigenvalues**-root

    class Plain(SpectralPotential):
        def psi(self, eigenvalues, root=0.5):
            return 0.5 * eigenvalues**-root

    assert (Last().time_varying, Plain().time_varying) == (True, False)
    one, same = (learn(estimator(potential), X, Y) for potential in (Last(), Drifting()))
    np.testing.assert_allclose(weights_of(one), weights_of(same), rtol=1e-12)


# --- Theorem 1 ------------------------------------------------------------------------------------


def played(potential, structure, gradient, rounds, d=3, **params):
    """A run of the core: x, g, H and H0, as regret takes them."""
    learner = core(d, potential, structure, epsilon=0.3, **params)
    x, g, H, H0 = [learner.x], [], [], learner.H
    for t in range(rounds):
        g.append(gradient(t, x[-1]))
        learner.step(g[-1])
        x.append(learner.x)
        H.append(learner.H)
    return {"x": np.array(x), "g": np.array(g), "H": np.array(H), "H0": H0}


@pytest.mark.parametrize("domain", [None, "box"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("power", [0.5, -0.5])
def test_regret_is_below_theorem_1_with_the_changes_of_the_potential(power, structure, domain):
    potential = Drifting(power=power)
    rng = np.random.default_rng(3)
    for opponent in (
        lambda t, x: rng.normal(size=3),
        lambda t, x: np.where(x > 0, 1.0, -1.0) * (np.arange(3) == t % 3) * 1.1**t,
        lambda t, x: np.array([1.0, -0.5, 0.2]) * (-1) ** t,
    ):
        run = played(potential, structure, opponent, 60, domain=domain, radius=1.0 if domain else None)
        corner = -np.sign(run["g"].sum(axis=0))
        for x_star in (run["x"][0], run["x"][-1], corner):
            bound = regret.theorem_1(**run, x_star=x_star, epsilon=0.3, potential=potential)
            assert regret.linear_regret(run["x"], run["g"], x_star) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_theorem_1_is_an_equality_up_to_small_gradients_and_small_changes(structure):
    """Nothing of the sum over the changes could be left out: the bound would be violated."""
    potential, size = Drifting(power=0.5), [0.05]
    rng = np.random.default_rng(7)
    directions = np.linalg.qr(rng.normal(size=(3, 3)))[0]

    def gradient(t, x):
        size[0] *= 1.006
        return size[0] * rng.choice([-1, 1]) * directions[t % 3]

    run = played(potential, structure, gradient, 750)
    dropped = 0.3 * np.trace(run["H0"] if structure == "full" else np.eye(3) * run["H0"]) / 2
    changes = 0.5 * sum(
        (potential.rate(t - 1) ** 2 - potential.rate(t) ** 2) * np.trace(np.linalg.inv(as_matrix(H)))
        for t, H in enumerate(run["H"], start=1)
        if t > 1
    )
    for x_star in (run["x"][-1], run["x"][0]):
        bound = regret.theorem_1(**run, x_star=x_star, epsilon=0.3, potential=potential)
        gap = bound - regret.linear_regret(run["x"], run["g"], x_star)
        assert 0 <= gap - dropped <= 0.1 * changes


def as_matrix(kept):
    return kept if np.ndim(kept) == 2 else np.diag(np.broadcast_to(kept, 3))


def test_the_potential_of_a_round_is_the_one_whose_minimiser_is_its_matrix():
    rng = np.random.default_rng(11)
    A = rng.normal(size=(3, 3))
    G = A @ A.T + np.eye(3)
    values, V = np.linalg.eigh(G)
    potential = Drifting()
    for t in (1, 9):
        H = (V * potential.psi(values, t)) @ V.T

        def objective(M, t=t):
            return np.sum(G * M) + regret.potential_value(M, potential, t=t)

        for _ in range(5):
            B = rng.normal(size=(3, 3))
            B = 1e-3 * (B + B.T)
            assert objective(H + B) > objective(H)
            assert objective(H + B) - objective(H) < 1e-3
