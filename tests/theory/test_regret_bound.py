"""regret_bound() is the closed form that fits the model, it is above the regret, and says what is missing where there is none."""

import pickle
import re

import numpy as np
import pytest
from reference.algorithm import LOSSES
from scipy import sparse
from support.data import STRUCTURES, FourthRoot, blocks_of, core, estimator, learn, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, merge, regret
from sklearn_adareg._kernels.aggregation import _fixed_share
from sklearn_adareg.model._runtime import method_of

X, SCORE = rows(0, n=60, d=4)
Y = target("log_loss", SCORE)
R = 0.8
RAW = {"fit_intercept": False, "scaling": None}
THEORY = {"eta": "theory", "epsilon": "theory"}
POTENTIALS = ("adagrad", "pnorm", "ons")
ONE_HOT = np.eye(4)[np.arange(60) % 4] * np.linspace(0.5, 1.0, 60)[:, None]


def bounded(potential, structure, domain="l2", **params):
    return estimator(potential, structure, domain=domain, radius=R, **{**RAW, **params})


def diameter(structure, domain="l2", d=4):
    """Of the domain, in the norm of the structure."""
    many = {"diag": 1, "block": 2}.get(structure, d)
    return {"l2": 2 * R, "box": 2 * R * np.sqrt(many)}[domain]


def worst_linear_regret(run, domain="l2"):
    """Σ g·(x_t − x*) for the x* of the domain for which it is largest."""
    theta = run.g.sum(axis=0)
    support = {"l2": np.linalg.norm(theta), "box": np.abs(theta).sum()}[domain]
    return regret.linear_regret(run.x, run.g, np.zeros(4)) + R * support


# --- the value --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["l2", "box"])
@pytest.mark.parametrize("structure", ["full", "block", "diag", "iso"])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_the_value_is_the_closed_form_with_the_factor_of_the_refresh(potential, structure, domain):
    model = bounded(potential, structure, domain, refresh=0.5, p=3.0)
    run = regret.record(model, X, Y)
    bound = model.fit(X, Y).regret_bound()
    G = run.epsilon * np.eye(4) + run.g.T @ run.g
    kappa = 1.5 ** (0.5 if potential == "adagrad" else 0.25)
    known = {
        "structure": structure,
        **blocks_of(structure),
        "refresh_factor": kappa if structure in ("full", "block") else 1.0,
    }
    p = {} if potential == "adagrad" else {"p": 3.0}
    form = {"adagrad": regret.adagrad_bound, "pnorm": regret.pnorm_bound}[potential]
    b = diameter(structure, domain)
    assert bound.value == pytest.approx(form(G, b, eta=0.5, **p, **known), rel=1e-10)
    assert bound.value == sum(bound.terms.values())
    assert (bound.missing, bound.rounds, bound.diameter) == ([], 60, pytest.approx(b))
    best = bound.hindsight
    at_best = form(G, b, eta=best["eta"], **p, **known)
    assert best["value"] == pytest.approx(at_best, rel=1e-9)
    assert at_best <= form(G, b, eta=1.1 * best["eta"], **p, **known)
    assert best["value_at_p"] <= best["value"] * (1 + 1e-9)


@pytest.mark.parametrize("domain", ["l2", "box"])
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", [*POTENTIALS, "own"])
def test_no_linear_regret_is_above_the_value(potential, structure, domain):
    """All nine and more, for losses of which nothing is known but that they are convex."""
    potential = FourthRootWithValue(0.3) if potential == "own" else potential
    model = bounded(potential, structure, domain, refresh=0.5)
    run = regret.record(model, X, Y)
    assert worst_linear_regret(run, domain) <= model.fit(X, Y).regret_bound().value


class FourthRootWithValue(FourthRoot):
    def value(self, steps):
        return self.eta**4 / 3 * np.sum(steps**-3.0)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_users_potential_has_the_bound_of_the_same_potential_in_the_registry(structure):
    own = bounded(FourthRootWithValue(0.3), structure).fit(X, Y).regret_bound()
    same = bounded("pnorm", structure, p=3.0, eta=0.3).fit(X, Y).regret_bound()
    # the closed form of the p-norm leaves out −Φ(H_0)/2
    start = 0.3 / 3 * 4 * 0.05**0.75 / 2
    assert own.value == pytest.approx(same.value - start, rel=1e-8)


@pytest.mark.parametrize("rank", [1, 2, 9])
@pytest.mark.parametrize("potential", ["adagrad", "pnorm"])
def test_a_sketch_has_its_own_spectrum_which_is_below_what_its_rank_allows(potential, rank):
    model = bounded(potential, "sketch", rank=rank)
    run = regret.record(model, X, Y)
    G = 0.05 * np.eye(4) + run.g.T @ run.g
    form = {"adagrad": regret.adagrad_bound, "pnorm": regret.pnorm_bound}[potential]
    value = model.fit(X, Y).regret_bound().value
    whole = form(G, 2 * R, eta=0.5)
    if rank == 9:
        assert value == pytest.approx(whole, rel=1e-10)
    else:
        assert whole < value <= form(G, 2 * R, eta=0.5, structure="sketch", rank=rank) * (1 + 1e-9)


def test_the_eigenvalues_of_a_wide_sketch_are_found_without_the_matrix():
    Z = sparse.random_array((40, 100_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    model = estimator("adagrad", "sketch", rank=3).fit(Z, Y[:40])
    assert 0 < model.regret_bound(diameter=1.0).value < np.inf


def test_the_weight_vectors_of_a_softmax_add_up():
    y = np.digitize(SCORE, [-0.5, 0.7])
    model = bounded("adagrad", "full", average=False)
    linear, theta, traces = 0.0, np.zeros((3, 4)), [0.05 * np.eye(4) for _ in range(3)]
    x = np.zeros((3, 4))
    for z, label in zip(X, y, strict=True):
        p = np.exp(x @ z - np.max(x @ z))
        g = np.outer(p / p.sum() - np.eye(3)[label], z)
        linear, theta = linear + np.sum(g * x), theta + g
        traces = [G + np.outer(own, own) for G, own in zip(traces, g, strict=True)]
        model.partial_fit(z[None], [label], classes=[0, 1, 2])
        x = model.coef_
    bound = model.regret_bound().value
    assert bound == pytest.approx(sum(regret.adagrad_bound(G, 2 * R, eta=0.5) for G in traces))
    assert linear + R * np.linalg.norm(theta, axis=1).sum() <= bound


def test_a_kronecker_product_has_its_bound_where_the_distance_is_known():
    y = np.digitize(SCORE, [-0.5, 0.7])
    model = estimator("adagrad", "kronecker", refresh=0.5)
    run = regret.record(model, X, y)
    assert "takes none" in model.fit(X, y).regret_bound().missing[0]
    far = np.sqrt(np.max(np.sum(run.x**2, axis=(1, 2))))
    form = regret.kronecker_bound(run.L, run.R, far, eta=0.5, refresh_factor=1.5**0.5)
    bound = model.regret_bound(diameter=far)
    assert bound.value == pytest.approx(form, rel=1e-10)
    assert regret.linear_regret(run.x, run.g, np.zeros_like(run.x[0])) <= bound.value
    [missing] = estimator("ons", "kronecker").fit(X, y).regret_bound(diameter=far).missing
    assert "No bound is proved" in missing


# --- ONS --------------------------------------------------------------------------------------------------------------


def best_loss(loss, Z, y):
    """The least total loss of many points of the ball."""
    cloud = np.random.default_rng(0).normal(size=(4000, 4))
    cloud *= R * np.linspace(0, 1, 4000)[:, None] ** 0.25 / np.linalg.norm(cloud, axis=1, keepdims=True)
    ell = np.vectorize(lambda m, t: LOSSES[loss](m, t, {})[0])
    return ell(Z @ cloud[::20].T, y[:, None]).sum(axis=0).min()


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize(
    ("structure", "Z"), [("full", X / 4), ("sketch", X / 4), ("diag", ONE_HOT), ("block", ONE_HOT)]
)
def test_ons_with_eta_of_theory_has_the_logarithmic_form(structure, Z, loss):
    y = target(loss, SCORE)
    model = bounded("ons", structure, loss=loss, **THEORY)
    run = regret.record(model, Z, y)
    bound = model.fit(Z, y).regret_bound()
    assert bound.missing == []
    assert "log" in bound.form
    assert run.losses.sum() - best_loss(loss, Z, y) <= bound.value
    G = run.epsilon * np.eye(4) + run.g.T @ run.g
    known = {"structure": structure, **blocks_of(structure)}
    form = regret.ons_bound(G, 2 * R, epsilon=run.epsilon, eta=run.eta, **known)
    if structure == "sketch":
        assert bound.value <= form
    else:
        assert bound.value == pytest.approx(form, rel=1e-9)


@pytest.mark.parametrize("change", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("structure", ["diag", "block"])
def test_diagonal_ons_has_a_theory_on_rows_with_one_feature_and_keeps_to_them(structure, change):
    model = learn(bounded("ons", structure, **THEORY), change(ONE_HOT), Y)
    full = learn(bounded("ons", "full", **THEORY), ONE_HOT, Y)
    assert (model.eta_, model.epsilon_) == (full.eta_, full.epsilon_)
    np.testing.assert_allclose(model.coef_, full.coef_)
    two = 0.3 * ONE_HOT
    two[7, [0, 3]] = 0.1
    with pytest.raises(ValueError, match=r"which .*ONS.* assumes, where a row has"):
        bounded("ons", structure, **THEORY).fit(change(two), Y)
    with pytest.raises(ValueError, match=r"number of nonzero features or blocks in a row of 1 .* reach 2"):
        model.partial_fit(change(two), Y)


def test_isotropic_ons_has_a_theory_in_one_dimension():
    one = bounded("ons", "iso", **THEORY).fit(X[:, :1], Y)
    same = bounded("ons", "full", **THEORY).fit(X[:, :1], Y)
    assert (one.eta_, one.epsilon_) == (same.eta_, same.epsilon_)
    assert one.regret_bound().value == pytest.approx(same.regret_bound().value)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "1/eta-exp-concave on all rows.*eta='theory'"),
        ({"structure": "iso"}, "not strongly convex"),
        ({"epsilon": "theory", "eta": 1e-3}, "must be 1e.03-exp-concave, and they are known"),
    ],
)
def test_without_the_curvature_ons_has_the_bound_for_convex_losses(params, words):
    model = bounded("ons", "full").set_params(**params).fit(X, Y)
    bound = model.regret_bound()
    [sentence] = bound.missing
    assert re.search(words, sentence), sentence
    assert "for convex losses" in sentence
    assert bound.value > 0


def test_a_softmax_has_no_theory_of_ons():
    with pytest.raises(ValueError, match="exp-concave in the weight vectors of all classes jointly"):
        bounded("ons", "full", **THEORY).fit(X, np.digitize(SCORE, [-0.5, 0.7]))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_step_size_of_the_p_norm_is_the_best_in_the_worst_case(structure):
    model = bounded("pnorm", structure, p=3.0, loss="hinge", **THEORY).fit(X, Y)
    trace = 60 * np.max(np.sum(X**2, axis=1))  # of slopes ±1
    mean = 1e-10 + trace / 4 + (trace / 3 if structure == "sketch" else 0.0)
    known = {"p": 3.0, "structure": "iso" if structure == "iso" else "full"}
    b = diameter(structure)
    forms = [regret.pnorm_bound(np.full(4, mean), b, eta=eta * model.eta_, **known) for eta in (0.9, 1, 1.1)]
    assert forms[1] == pytest.approx(regret.pnorm_bound(np.full(4, mean), b, **known))
    assert forms[1] < min(forms[0], forms[2])
    for spread in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        assert regret.pnorm_bound(4 * mean * spread, b, eta=model.eta_, **known) <= forms[1] * (1 + 1e-9)
    same = bounded("adagrad", structure, loss="hinge", **THEORY).fit(X, Y)
    assert bounded("pnorm", structure, p=1.0, loss="hinge", **THEORY).fit(X, Y).eta_ == pytest.approx(same.eta_)


def test_a_loss_parameter_that_changes_would_void_the_theory():
    model = bounded("ons", "full", loss="huber", huber_delta=50.0, **THEORY).partial_fit(X / 4, SCORE)
    with pytest.raises(ValueError, match=r"computed for huber_delta=50.0, and it is 40.0 now"):
        model.set_params(huber_delta=40.0).partial_fit(X / 4, SCORE)
    assert model.set_params(huber_delta=50.0).partial_fit(X / 4, SCORE).t_ == 120


# --- the core ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_the_core_has_the_bound_of_the_estimator(potential, structure):
    model = bounded(potential, structure)
    run = regret.record(model, X, Y)
    learner = core(4, potential, structure, eta=0.5, epsilon=0.05, refresh=0.0, domain="l2", radius=R)
    for g in run.g:
        learner.step(g)
    assert learner.regret_bound().value == pytest.approx(model.fit(X, Y).regret_bound().value)


def test_what_a_sketch_has_shrunk_is_paid_for_by_the_diameter():
    learner = core(4, "ons", "sketch", eta=2.0, epsilon=0.1, rank=1, domain="l2", radius=R)
    for z in X:
        learner.step(z)
    values = np.linalg.eigvalsh(learner.G)
    assert values[0] > 1.0, "ε and what was shrunk"
    expected = values[0] * (2 * R) ** 2 / 4 + 4 + np.sum(np.log(values / 0.1))
    assert learner.regret_bound(exp_concave=True).value == pytest.approx(expected)


def test_the_core_takes_the_word_of_its_caller_for_curvature():
    learner = core(4, "ons", "diag", eta=2.0, epsilon=1.0, domain="box", radius=R)
    for g in ONE_HOT:
        learner.step(g)
    convex, curved = learner.regret_bound(), learner.regret_bound(exp_concave=True)
    assert "pass exp_concave=True" in convex.missing[0]
    form = regret.ons_bound(learner.G, 4 * R, epsilon=1.0, eta=2.0, structure="diag")
    assert curved.value == pytest.approx(form)
    assert curved.value < convex.value
    # a diameter that is given is in the ∞-norm, of which the Euclidean one is at most √D
    assert learner.regret_bound(exp_concave=True, diameter=2 * R).value == pytest.approx(form)


# --- what is missing --------------------------------------------------------------------------------------------------


class Cooling(FourthRoot):
    def psi(self, eigenvalues, t):
        return self.eta * t**-0.1 / np.sqrt(eigenvalues)


MISSING = [
    ({"domain": None, "radius": None}, "domain=None is unbounded; pass a bounded domain"),
    ({"domain": "nonnegative"}, "domain='nonnegative' is unbounded"),
    ({"fit_intercept": True}, "fit_intercept=True leaves the intercept free"),
    ({"scaling": "online"}, "scaling='online'.*pass scaling=None"),
    ({"half_life": 50.0}, "half_life=50.0 forgets"),
    ({"domain": "box", "alpha": 0.1}, "alpha=0.1 adds a penalty"),
    ({"update": "dual_averaging"}, "regret.dual_averaging_bound"),
    ({"potential": Cooling(0.3), "eta": "auto"}, "varies with time"),
    ({"potential": FourthRoot(0.3), "eta": "auto"}, "has no value"),
    ({"scaling": "online", "eta": "auto", "domain": None, "radius": None}, "method 'stack'"),
]


@pytest.mark.parametrize(("params", "words"), MISSING)
def test_what_stands_in_the_way_is_said_in_a_sentence(params, words):
    model = bounded("adagrad", "diag").set_params(**params).fit(X, Y)
    bound = model.regret_bound()
    assert (bound.value, bound.terms) == (None, {})
    assert re.search(words, bound.missing[0]), bound.missing
    assert all(sentence.endswith(".") for sentence in bound.missing)


def test_a_model_that_has_not_played_all_its_rounds_has_no_bound():
    halves = [learn(bounded("adagrad", "diag"), X[k::2], Y[k::2]) for k in range(2)]
    assert halves[0].regret_bound().value > 0
    merged = pickle.loads(pickle.dumps(merge(halves)))
    assert merged.regret_bound().value is None
    assert "merged from several" in merged.regret_bound().missing[0]
    y = np.digitize(SCORE, [-0.5, 0.7])
    grown = estimator("adagrad", "diag").partial_fit(X, y, classes=[0, 1, 2])
    assert grown.regret_bound(diameter=5.0).value > 0
    grown.partial_fit(X, y + 1, classes=[0, 1, 2, 3])
    assert grown.regret_bound(diameter=5.0).value is None


def test_a_diameter_may_be_given():
    model = estimator("adagrad", "full").fit(X, Y)
    run = regret.record(model, X, Y)
    far = np.max(np.linalg.norm(run.x, axis=1))
    bound = model.regret_bound(diameter=far)
    assert regret.linear_regret(run.x, run.g, np.zeros(5)) <= bound.value
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="is no distance; pass a positive number"):
            model.regret_bound(diameter=wrong)


def test_chunks_pickles_and_sparse_rows_change_nothing():
    for structure in STRUCTURES:
        whole = learn(bounded("adagrad", structure), X, Y)
        parts = learn(bounded("adagrad", structure), X[:25], Y[:25])
        parts = pickle.loads(pickle.dumps(parts)).partial_fit(sparse.csr_array(X[25:]), Y[25:])
        assert parts.regret_bound().value == pytest.approx(whole.regret_bound().value, rel=1e-12)


# --- the combination of the default learner ---------------------------------------------------------------------------


def evaluated(kind, margins, y):
    """The losses of candidates with these margins, (N, C)."""
    if kind == "softmax":
        top = margins.max(axis=1)
        return top + np.log(np.exp(margins - top[:, None]).sum(axis=1)) - margins[:, int(y)]
    if kind == "log_loss":
        return np.logaddexp(0.0, -y * margins[:, 0])
    return 0.5 * (margins[:, 0] - y) ** 2


class SlowCombination:
    """Fixed share over candidates and over its layers, and every term of its bound, from the margins of candidates alone."""

    def __init__(self, first, first_layers, kind):
        self.kind, self.first, self.first_layers = kind, first, first_layers
        layers = len(first_layers)
        self.w, self.v = np.tile(first, (layers, 1)), first_layers.copy()
        self.delta, self.beyond, self.switches = np.zeros((3, layers + 1))
        self.apart, self.published, self.capped = np.zeros(layers), 0.0, np.zeros(len(first))
        self.rested = np.zeros(layers)

    def learn(self, margins, active, y, factor, t, awake=None):
        """A round of these margins, (N, C), in which those that are not awake rest; the margin that is published before it."""
        awake = np.ones(len(margins), dtype=bool) if awake is None else awake
        losses = evaluated(self.kind, margins, y) * factor
        least = losses[awake].min()
        losses = np.where(awake, losses, least)
        capped = np.minimum(losses - least, _fixed_share.CAP)
        parts = self.w * awake / (self.w * awake).sum(axis=1, keepdims=True)
        mixtures = -np.log(parts @ np.exp(-capped))
        self.rested += (not awake.all()) * (mixtures - mixtures[0])
        used = self.w * active * awake
        of_layers = used @ margins / used.sum(axis=1, keepdims=True)
        published = self.v @ of_layers
        self.published += evaluated(self.kind, published[None], y)[0] * factor
        self.capped += np.where(awake, capped, mixtures[0]) + least
        layer_losses = evaluated(self.kind, of_layers, y) * factor
        for r, w in enumerate(self.w):
            a = _fixed_share.RATES[r] or 1.0 / (t + 1.0)
            if not active.all():
                self.apart[r] += layer_losses[r] - parts[r] @ losses
            updated = self.update(r, parts[r], capped, losses - least, a, self.first)
            self.w[r] = np.where(awake, (updated - a * self.first) * (w * awake).sum(), (1.0 - a) * w) + a * self.first
        if len(self.v) > 1:
            above = layer_losses - least
            capped = np.minimum(above, _fixed_share.CAP)
            self.v = self.update(len(self.v), self.v, capped, above, 1.0 / (t + 1.0), self.first_layers)
        return published

    def update(self, r, w, capped, losses, a, first):
        mixture = w @ np.exp(-capped)
        self.delta[r] += w @ capped + np.log(mixture)
        self.beyond[r] += w @ (losses - capped)
        self.switches[r] -= np.log(1.0 - a)
        return (1.0 - a) * w * np.exp(-capped) / mixture + a * first

    def right_side(self):
        """For each candidate, by the layer for which it is smallest."""
        layers = len(self.v)
        rest = self.delta + self.beyond + self.switches
        rest = rest[:layers] + rest[layers] + self.apart + np.maximum(self.rested, 0.0) - np.log(self.first_layers)
        return self.capped - np.log(self.first) + rest.min()


def candidates_margins(model, z):
    """The margins of all candidates for a row, (N, C), and which ones take part."""
    state = model._state
    [block] = state.blocks
    method, recipe = method_of(block), block.recipe
    weights = method.candidates()[0]  # (B, C, D)
    low, high = method.limits()
    base = weights @ np.append(np.clip(z, low, high), 1.0)
    constant = base[-1]
    parts = [scale * base + (1.0 - scale) * constant for scale in _fixed_share.SCALES]
    B, rows = len(base), state.rounds
    active = np.ones(B, dtype=bool)
    weak = np.ravel(recipe.epsilon) < 0.1
    active[: len(weak)] = ~weak | (rows >= 10 * recipe.D)
    on = np.tile(active, len(parts))
    if "share_regressions" in block.arrays:
        for sums in block.arrays["share_regressions"][0]:
            v = sums[B * B + B :]
            parts.append([[np.sum(v[active] * base[active, 0])]])
        on = np.append(on, [True] * len(block.arrays["share_regressions"][0]))
    return np.concatenate(parts), on.astype(float)


def next_target(stream, kind, model, z, t, score):
    """Adversarial: what the published model finds least likely."""
    if kind == "squared_error":
        return 50.0 * score if stream == "adversarial" and t % 3 == 0 else score
    if stream != "adversarial" or t == 0:
        return int(score > 0) if kind == "log_loss" else int(np.digitize(score, [-0.7, 0.7]))
    margins = model.decision_function(z[None])[0]
    return int(margins <= 0) if kind == "log_loss" else int(np.argmin(margins))


@pytest.mark.parametrize("stream", ["random", "adversarial", "changing", "resting"])
@pytest.mark.parametrize("half_life", [None, "auto"])
@pytest.mark.parametrize("kind", ["log_loss", "softmax", "squared_error"])
def test_the_bound_of_a_combination_is_that_of_a_slow_one_and_holds(kind, half_life, stream):
    """In a long stream whose rule changes at its end, candidates that forget rest."""
    rng, n, rests = np.random.default_rng(7), 1700 if stream == "resting" else 160, 0
    Z, weights, coef = rng.normal(size=(n, 3)), rng.uniform(0.5, 2.0, n), 2.0 * rng.normal(size=3)
    known = {"log_loss": {"classes": [0, 1]}, "softmax": {"classes": [0, 1, 2]}}.get(kind, {})
    model = (AdaRegClassifier if known else AdaRegRegressor)(half_life=half_life)
    slow, limits = None, (-np.inf, np.inf)
    for t, z in enumerate(Z):
        turned = -1.0 if (stream == "changing" and t > n / 2) or t > 1600 else 1.0
        y = next_target(stream, kind, model, z, t, turned * z @ coef + rng.normal())
        margins, active = candidates_margins(model, z) if t else (None, None)
        resting = t > 0 and t < model._state.blocks[0].arrays["rests"][0, 0]
        model.partial_fit(z[None], [y], sample_weight=weights[t : t + 1], **known)
        [block] = model._state.blocks
        sums = method_of(block).bound_terms()
        if slow is None:  # every candidate predicts 0
            slow = SlowCombination(sums["first"], sums["first_layers"], kind)
            margins = np.zeros((len(sums["first"]), 3 if kind == "softmax" else 1))
            active = np.ones(len(margins))
        factor = weights[t]
        if kind == "squared_error":
            squares, total = block.arrays["units"][0]
            factor /= 4.0 * squares / total if total > 0 else 1.0  # the first row has no unit yet
            y = np.clip(y, *limits)
            limits = block.arrays["target_columns"][5:7, 0].copy()
        order = method_of(block).order_of_candidates()
        awake = order < (2 * (len(np.ravel(block.recipe.epsilon)) + 1) if resting else len(order))
        slow.learn(margins, active, 2.0 * y - 1.0 if kind == "log_loss" else y, factor, t + 1.0, awake)
        rests += resting
    N = len(slow.first)
    assert len(order) == N
    if kind != "squared_error":  # whose candidates weigh too much still
        assert (rests > 100) == (stream == "resting" and half_life == "auto")
    np.testing.assert_allclose(block.arrays["shares"][0][:, order], slow.w, rtol=1e-6, atol=1e-9)
    bound = model.regret_bound()
    names = list(model.candidate_weights_)
    assert list(bound.candidates) == names
    right = slow.right_side()[: len(names)]
    for name, most in zip(names, right, strict=True):
        found = bound.candidates[name]
        assert found["loss"] + found["excess"] == pytest.approx(most, rel=1e-6, abs=1e-6)
        assert bound.terms["published"] <= found["loss"] + found["excess"]
    published, *rest = bound.terms.values()
    assert published == pytest.approx(slow.published, rel=1e-6)
    assert sum(rest) == pytest.approx(right.min(), rel=1e-6)
    np.testing.assert_allclose(sums["delta"][0], slow.delta, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums["apart"][0], slow.apart + np.maximum(slow.rested, 0.0), rtol=1e-5, atol=1e-6)
    if stream == "random":
        assert sum(rest) < 1.6 * published, "it says little"
    assert bound.value is None
    assert "method 'information'" in bound.missing[0]


def test_what_is_published_has_the_progressive_loss_and_copies_go_on():
    model = AdaRegClassifier().partial_fit(X, Y, classes=np.unique(Y))
    published = model.regret_bound().terms["published"]
    assert published == pytest.approx(model.progressive_loss_ * len(X))
    bound = model.partial_fit(X, Y).regret_bound()
    assert pickle.loads(pickle.dumps(model)).regret_bound() == bound
    assert bound.rounds == 2 * len(X)


def test_independent_combinations_add_up():
    both = AdaRegRegressor(half_life=None).partial_fit(X, np.c_[SCORE, SCORE**2])
    single = [AdaRegRegressor(half_life=None).partial_fit(X, y) for y in (SCORE, SCORE**2)]
    found = [one.regret_bound() for one in single]
    bound = both.regret_bound()
    assert bound.terms["published"] == pytest.approx(sum(one.terms["published"] for one in found))
    for name, own in bound.candidates.items():
        for part in ("loss", "excess"):
            total = sum(one.candidates[name][part] for one in found)
            assert own[part] == pytest.approx(total)


def test_a_fit_that_ends_at_a_minimiser_has_no_terms():
    bound = AdaRegClassifier().fit(X, Y).partial_fit(X, Y).regret_bound()
    assert (bound.terms, bound.candidates) == ({}, {})
    assert "fit ended at the minimiser of one prior" in bound.missing[-1]


def test_a_merged_combination_has_no_terms():
    models = [AdaRegClassifier(half_life=None).fit(X[k::2], Y[k::2]) for k in range(2)]
    bound = merge(models).regret_bound()
    assert (bound.terms, bound.candidates) == ({}, {})
    assert "merged from several" in bound.missing[-1]
