"""Risk certificates: the bounds solve the equations that define them, hold at every round, and refuse what proves nothing."""

import pickle

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from support.data import rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.model import _registry
from sklearn_adareg.theory._certificates import bernstein_bound, zero_one_bound

X, SCORE = rows(0, n=400)
Y = target("log_loss", SCORE)
LEAST = 1e-3
REACH = -np.log(LEAST)


def cauchy(center, width=0.7, step=0.125):
    """The mixing distribution, by its definition: ln u on a grid from 1e-7 to 30."""
    u = np.exp(np.log(1e-7) + step * np.arange(int(np.ceil(np.log(30 / 1e-7) / step))))
    weights = [1 / (1 + (np.log(v / center) / width) ** 2) for v in u]
    return u, np.array(weights) / np.sum(weights)


@pytest.mark.parametrize(("S", "t"), [(0, 1), (0, 900), (3, 10), (30, 100), (5000, 32561)])
def test_the_mixture_of_bernoulli_martingales_is_one_over_delta_at_the_bound(S, t):
    [p] = zero_one_bound(S, t, 0.05)
    u, weights = cauchy(0.05)
    mixture = np.sum(weights * np.exp(-u * S - t * np.log(1 - p + p * np.exp(-u))))
    assert mixture == pytest.approx(20, rel=1e-6)


@pytest.mark.parametrize(("mean", "variance", "t"), [(0.3, 0.2, 50), (0.01, 1e-4, 9), (0.4, 0.2, 30_000)])
def test_the_mixture_of_bernstein_martingales_is_one_over_delta_at_the_bound(mean, variance, t):
    [bound] = bernstein_bound(mean * t, variance * t, t, REACH, 0.05)
    u, weights = cauchy(0.2)
    rate = (1 - np.exp(-u)) / REACH
    psi = (-np.log(1 - REACH * rate) - REACH * rate) / REACH**2
    mixture = np.sum(weights * np.exp(rate * (bound - mean) * t - psi * variance * t))
    assert mixture == pytest.approx(20, rel=1e-6)


def test_more_mistakes_or_less_certainty_allowed_raise_the_bound():
    assert (np.diff(zero_one_bound(np.arange(101), 100, 0.05)) > -1e-15).all()
    assert zero_one_bound(100, 100, 0.05) == 1.0
    assert zero_one_bound(10, 100, 0.01) > zero_one_bound(10, 100, 0.05) > 0.1


def run_of_losses(delta, streams=500, length=600):
    """How many streams have a bound below the mean of the conditional means at some round; risks react to past losses."""
    rng = np.random.default_rng(0)
    failed, failed_bounded, pointwise = (np.zeros(streams, dtype=bool) for _ in range(3))
    mistakes, losses, squares, errors, risks = np.zeros((5, streams))
    for t in range(1, length + 1):
        lucky = mistakes < 0.2 * t
        p = np.where(lucky, 0.35, 0.05)  # what makes a bound of a constant mean fail, if anything does
        wrong = rng.random(streams) < p
        loss = np.where(wrong, 3.0, 0.1)
        squares += (loss - losses / max(1, t - 1)) ** 2
        mistakes, losses = mistakes + wrong, losses + loss
        errors, risks = errors + p, risks + 3.0 * p + 0.1 * (1 - p)
        if t < 20 or t % 25 == 0:
            failed |= zero_one_bound(mistakes, t, delta) < errors / t
            failed_bounded |= bernstein_bound(losses, squares, t, REACH, delta) < risks / t
            sd = np.sqrt(np.maximum(mistakes, 1) * (1 - mistakes / t) / t / t)
            pointwise |= (mistakes / t + 1.645 * sd < errors / t) & (t > 30)
    return failed.sum(), failed_bounded.sum(), pointwise.sum()


def test_the_bounds_hold_at_every_round_while_risks_change():
    most = binom.ppf(0.999, 500, 0.05)
    failed, failed_bounded, pointwise = run_of_losses(0.05)
    assert failed <= most
    assert failed_bounded <= most
    assert pointwise > 2 * most, "a bound for one round would fail here"


def test_the_bounds_are_not_held_by_being_loose():
    failed, failed_bounded, _ = run_of_losses(0.5, streams=200, length=200)
    assert 10 <= failed <= 100
    assert 2 <= failed_bounded <= 100


def test_a_certificate_holds_at_every_round_of_a_learner():
    population, labels = make_classification(100, 4, n_redundant=0, flip_y=0.3, random_state=0)
    failed = np.zeros(2)
    for seed in range(20):
        model, means = AdaRegClassifier(), np.zeros(2)
        order = np.random.default_rng(seed).integers(100, size=60)
        below = np.zeros(2, dtype=bool)
        for t, row in enumerate(order):
            margins = model.decision_function(population) if t else np.zeros(100)
            losses = np.logaddexp(0, -(2 * labels - 1) * margins)
            clipped = np.clip(losses, -np.log1p(-LEAST), REACH)
            means += [clipped.mean(), np.mean((margins > 0) != labels)]
            model.partial_fit(population[[row]], labels[[row]], classes=[0, 1])
            found = model.risk_certificate(0.1)
            below |= np.array([found.loss, found.error_rate]) < means / (t + 1)
        failed += below
    assert (failed <= binom.ppf(0.999, 20, 0.1)).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_certificate_is_the_bound_of_what_was_recorded(n_classes):
    y = np.digitize(SCORE, [0.0] if n_classes == 2 else [-1.0, 0.0, 1.0])
    model = AdaRegClassifier()
    p = model.partial_fit_predict(X, y, classes=np.arange(n_classes), method="predict_proba")
    losses = -np.log(np.clip(p[np.arange(len(y)), y], LEAST, 1 - LEAST))
    before = np.concatenate([[0.0], np.cumsum(losses)[:-1] / np.arange(1, len(y))])
    wrong = (p.argmax(axis=1) != y).sum()
    found = model.risk_certificate(0.1)
    expected = bernstein_bound(losses.sum(), np.sum((losses - before) ** 2), len(y), REACH, 0.1)
    assert found.loss == pytest.approx(expected[0], rel=1e-9)
    assert found.error_rate == zero_one_bound(wrong, len(y), 0.1)
    assert (found.rounds, found.delta) == (len(y), 0.1)
    assert found.mean_loss == pytest.approx(losses.mean())
    assert found.mean_error_rate == wrong / len(y)
    assert found.clip == pytest.approx((-np.log(1 - LEAST), -np.log(LEAST)))
    assert "published before a round that is drawn at random" in found.predictor
    assert "[0.001, 0.999]" in found.predictor
    assert found.missing == ""
    assert "error rate ≤" in str(found)


def test_a_certificate_does_not_depend_on_chunks_pickles_or_later_passes():
    whole = AdaRegClassifier().partial_fit(X, Y, classes=[-1, 1])
    chunked = AdaRegClassifier().partial_fit(X[:7], Y[:7], classes=[-1, 1])
    chunked = pickle.loads(pickle.dumps(chunked)).partial_fit(X[7:], Y[7:])
    assert whole.risk_certificate() == chunked.risk_certificate()
    one, three = (AdaRegClassifier(max_iter=k, random_state=0, tol=None).fit(X, Y) for k in (1, 3))
    assert one.risk_certificate() == three.risk_certificate()
    again = three.set_params(warm_start=True).fit(X, Y)
    assert one.risk_certificate() == again.risk_certificate()


@pytest.mark.parametrize("average", ["auto", False, True])
def test_it_speaks_of_what_was_published(average):
    model = AdaRegClassifier("adagrad", "diag", eta=0.5, average=average)
    model.partial_fit(X, Y, classes=[-1, 1])
    assert model.risk_certificate().predictor.startswith("the model that was published before a round")


@pytest.mark.parametrize("loss", [name for name in _registry.CLASSIFICATION_LOSSES if name != "log_loss"])
def test_unbounded_losses_of_classifiers_have_a_bound_on_the_error_rate(loss):
    found = AdaRegClassifier(loss=loss).partial_fit(X, Y, classes=[-1, 1]).risk_certificate()
    assert found.loss is found.clip is None
    assert found.error_rate < 0.4
    assert f"loss='{loss}' is unbounded" in found.missing
    assert found.missing in str(found)


@pytest.mark.parametrize("loss", _registry.REGRESSION_LOSSES)
def test_regressors_have_none_and_say_why(loss):
    model = AdaRegRegressor(loss=loss).partial_fit(X, target(loss, SCORE))
    found = model.risk_certificate()
    assert found.loss is found.error_rate is None
    assert f"loss='{loss}' is unbounded" in found.missing


THEORY = {"domain": "l2", "radius": 1.0, "eta": "theory", "epsilon": "theory"}
REFUSALS = {
    "rows with weights": ({}, {"sample_weight": np.full(len(X), 2.0)}, "weights other than 1"),
    "class weights": ({"class_weight": {1: 3.0}}, {}, "weights other than 1"),
    "sizes from the rows": (
        {**THEORY, "potential": "ons", "structure": "full", "fit_intercept": False, "scaling": None},
        {},
        'eta="theory" and epsilon="theory" take their sizes',
    ),
    "blocks from the rows": ({"structure": "block"}, {}, 'blocks="auto" looks at the rows'),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_proves_nothing_is_refused(case):
    params, given, sentence = REFUSALS[case]
    model = AdaRegClassifier(**params).partial_fit(X, Y, classes=[-1, 1], **given)
    with pytest.raises(ValueError, match=sentence):
        model.risk_certificate()


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2.0, None, "a", True, np.nan])
def test_delta_is_a_probability(delta):
    model = AdaRegClassifier().partial_fit(X, Y, classes=[-1, 1])
    with pytest.raises(ValueError, match="is not a probability; pass a number between 0 and 1"):
        model.risk_certificate(delta)


def test_a_model_that_has_learnt_nothing_has_no_certificate():
    with pytest.raises(NotFittedError):
        AdaRegClassifier().risk_certificate()
