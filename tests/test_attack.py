"""Random estimators, calls and containers, and what has to hold whatever is passed.

A short attack, the same in every run, is part of the suite. A long one::

    ADAREG_ATTACK_SEED=1 ADAREG_ATTACK_EXAMPLES=20000 python -m pytest tests/test_attack.py -m long -n 2 -rP
"""

import copy
import os
import re
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.attack_cases import (
    CONTAINERS,
    FAULTS,
    WEIGHTS,
    WRONG,
    Case,
    Chunk,
    Own,
    Trap,
    cases,
    chunks,
    make_rows,
    make_targets,
)
from support.attack_steps import ALIASES, Steps, contents, repickled, snapshot

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

SEED = int(os.environ.get("ADAREG_ATTACK_SEED", "0"))
EXAMPLES = int(os.environ.get("ADAREG_ATTACK_EXAMPLES", "5000"))
COMMON = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
COMMON["phases"] = [phase for phase in Phase if phase is not Phase.explain]
SHORT = settings(max_examples=150, derandomize=True, **COMMON)
LONG = settings(max_examples=EXAMPLES, print_blob=False, **COMMON)

ROUNDING = 1e-9  # relative, by which a published point may lie outside of its domain
ALLOWED = (ValueError, TypeError, AttributeError, NotFittedError)
EXPECTED_WARNINGS = (
    "has no effect",
    "count as 0",
    "failed and is dropped",  # a trial of a search
    "max_iter",  # a ConvergenceWarning
    "fit did not reach the minimum",  # another
    "feature names",  # scikit-learn's, of frames and arrays in turn
    "A column-vector y was passed",
    "not well-defined",  # scikit-learn's, of scores of one row
    "y_pred contains classes not in y_true",
    "Only one class is present",
    "A single label was found",
)
METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")


class Attack(Steps):
    """One model, and the calls made on it and on its twins."""

    calls = 0

    def __init__(self, case):
        self.case = case
        self.model = case.make()

    def call(self, bound, *args, **keywords):
        """The result of a call, or its exception, which has to be one of the expected kind and a sentence."""
        type(self).calls += 1
        before = contents(args)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result, error = bound(*args, **keywords), None
        except (*ALLOWED, LookupError) as stopped:
            result, error = None, stopped
            check_sentence(error)
        finally:
            Trap.calls_left = None
        for warning in caught:
            assert any(words in str(warning.message) for words in EXPECTED_WARNINGS), str(warning)
        assert contents(args) == before, "what was passed has changed"
        return result, error

    # ---- learning ------------------------------------------------------------------------------------------------

    def data(self, chunk):
        """Dense rows, targets and weights."""
        X, rng = make_rows(chunk, self.case.width)
        y = make_targets(chunk, self.case, X, rng)
        weight = WEIGHTS[chunk.weight](rng, len(y)) if chunk.weight in WEIGHTS else None
        return X, y, weight, rng

    def learn(self, model, X, y, weight):
        """partial_fit, with the classes where there are any."""
        classes = {"classes": self.case.labels} if self.case.cls is AdaRegClassifier else {}
        return self.call(model.partial_fit, X, y, sample_weight=weight, **classes)[1]

    def partial_fit(self, chunk, copied, cuts, trap):
        """Learn; a twin that learns the same in parts, with rows of weight zero between them, is the same to the bit."""
        X, y, weight, rng = self.data(chunk)
        before, held = copied(self.model), snapshot(self.model)
        rows = CONTAINERS[chunk.container]
        if chunk.fault:
            error = self.learn(self.model, *FAULTS[chunk.fault](rows(X), y, weight, rng))
            if error is not None and not stopped(error):
                assert snapshot(self.model) == held, "a call that failed has changed the model"
            return
        Trap.calls_left = trap
        error = self.learn(self.model, rows(X), y, weight)
        if error is not None and not (stopped(error) and hasattr(self.model, "t_")):
            assert snapshot(self.model) == held, "a call that failed has changed the model"
            return
        learnt = self.model.t_ - (before.t_ if hasattr(before, "t_") else 0)
        positive = np.flatnonzero(np.ones(len(y)) if weight is None else weight)
        end = len(y) if error is None else positive[learnt]
        if "theory" in (self.model.eta, self.model.epsilon):
            return  # the rows of its first call decide its step size, those that are not learnt too
        if self.model.blocks == "auto" and self.model.structure_ == "block" and not hasattr(before, "t_"):
            return  # and likewise which features are in a block
        if error is not None and hasattr(error, "args") and "row" in str(error):
            assert f"Stopped at row {end}:" in str(error)
        # A call that is stopped at its first round changes nothing; rows of weight zero alone may bring classes.
        if error is None or learnt or not hasattr(before, "t_"):
            self.learn_in_parts(before, rows, (X[:end], y[:end], weight, rng), cuts)
        if hasattr(before, "t_"):
            check_same(self.model, before)
        if error is not None:
            errors = [self.learn(each, *self.good_rows(rows)) for each in (self.model, before)]
            assert str(errors[0]) == str(errors[1])
            check_same(self.model, before)

    def learn_in_parts(self, model, rows, data, cuts):
        """The same rows in chunks, and rows of weight zero in between."""
        X, y, weight, rng = data
        weight = np.ones(len(y)) if weight is None else np.asarray(weight)[: len(y)]
        places = np.sort(rng.integers(0, len(y) + 1, size=len(cuts)))
        for part in np.split(np.arange(len(y)), places):
            own = weight[part]
            if len(part) and cuts and cuts[0]:
                part, own = np.append(part, part[:1]), np.append(own, 0.0)
            if len(part):
                assert self.learn(model, rows(X[part]), y[part], own) is None

    def good_rows(self, container=np.asarray):
        """Four ordinary rows."""
        X = container(np.linspace(-1, 1, self.case.width * 4).reshape(4, -1))
        if self.case.cls is AdaRegClassifier:
            return X, np.array(self.case.labels)[[0, 1, 1, 0]], None
        return X, np.ones((4, self.case.targets)) if self.case.targets else np.ones(4), None

    def fit(self, chunk):
        """Fit; a clone fitted on the same rows is the same, and a failure changes nothing."""
        X, y, weight, rng = self.data(chunk)
        held, fresh = snapshot(self.model), clone(self.model)
        given = CONTAINERS[chunk.container](X), y, weight
        if chunk.fault:
            given = FAULTS[chunk.fault](*given, rng)
        error = self.call(self.model.fit, *given)[1]
        if error is not None:
            assert snapshot(self.model) == held, "a fit that failed has changed the model"
        elif self.model.random_state == 0 and not self.model.warm_start:
            assert self.call(fresh.fit, *given)[1] is None
            check_same(self.model, fresh)

    # ---- everything else -----------------------------------------------------------------------------------------

    def predict(self, chunk):
        """Predictions twice: they are the same, and change nothing."""
        X, y, weight, rng = self.data(chunk)
        X = CONTAINERS[chunk.container](X)
        if chunk.fault:
            X = FAULTS[chunk.fault](X, y, weight, rng)[0]
        held = snapshot(self.model)
        for name in METHODS:
            if hasattr(self.model, name):
                (first, error), (second, again) = (self.call(getattr(self.model, name), X) for _ in range(2))
                assert str(error) == str(again)
                np.testing.assert_array_equal(first, second)
                if error is None and name == "predict_proba":
                    np.testing.assert_allclose(first.sum(axis=1), 1.0)
        assert snapshot(self.model) == held, "a prediction has changed the model"

    def set_params(self, name, value):
        """Set a parameter, learn, and set it back."""
        was = self.model.get_params()[name]
        self.model.set_params(**{name: value})
        held = snapshot(self.model)
        error = self.learn(self.model, *self.good_rows())
        if error is not None and not stopped(error):
            assert snapshot(self.model) == held, "a call that failed has changed the model"
            self.model.set_params(**{name: was})

    def copies(self, how):
        """Go on with a copy; a clone knows the parameters only."""
        fresh = clone(self.model)
        assert not hasattr(fresh, "coef_")
        assert snapshot(self.model) == snapshot(copy.deepcopy(self.model))
        if hasattr(self.model, "t_") and how is clone:
            self.call(self.model.sparsify)
            self.call(self.model.densify)
        else:
            self.model = how(self.model)

    def check(self):
        """What is published is finite and in its domain."""
        if hasattr(self.model, "t_"):
            coef, intercept = self.model.coef_, self.model.intercept_
            assert np.isfinite(coef).all()
            assert np.isfinite(intercept).all()
            check_domain(np.atleast_2d(coef), self.model)


def stopped(error):
    """Whether the error came in mid-stream, at a row."""
    return str(error).startswith(("Stopped at row", "The trap"))


def check_sentence(error):
    """Ours end with a full stop; those of scikit-learn and NumPy are theirs."""
    words = str(error)
    *_, innermost = traceback.extract_tb(error.__traceback__)
    assert words.strip(), repr(error)
    if isinstance(error, LookupError):
        assert words == "The trap has sprung."
    elif "sklearn_adareg" in innermost.filename:
        assert words.endswith("."), words
        assert words.startswith("All trials failed") or not re.search(r"np\.|array\(|dtype", words), words


def check_same(model, twin):
    """Two models are the same to the bit; their mean losses were added up in another order."""
    np.testing.assert_array_equal(model.coef_, twin.coef_)
    np.testing.assert_array_equal(model.intercept_, twin.intercept_)
    assert model.t_ == twin.t_
    assert model.progressive_loss_ == pytest.approx(twin.progressive_loss_, rel=1e-9, nan_ok=True)
    np.testing.assert_array_equal(model._state.class_counts, twin._state.class_counts)


def check_domain(coef, model):
    """Whether each row of coef is in the domain."""
    radius = (1 + ROUNDING) * (model.radius or 0)
    sizes = {
        "l2": lambda: np.linalg.norm(coef, axis=1),
        "box": lambda: np.abs(coef).max(axis=1),
        "l1": lambda: np.abs(coef).sum(axis=1),
        "simplex": lambda: coef.sum(axis=1),
    }
    if model.domain in sizes:
        assert (sizes[model.domain]() <= radius).all(), (model.domain, coef)
    if model.domain == "simplex":
        np.testing.assert_allclose(coef.sum(axis=1), model.radius, rtol=ROUNDING)
    if model.domain in ("simplex", "nonnegative"):
        assert (coef >= 0).all()


def attack(case, steps):
    """Every step, and after each of them what is published."""
    run = Attack(case)
    for name, *arguments in steps:
        getattr(run, name)(*arguments)
        run.check()


def strategy(cls):
    """An estimator and up to six steps."""
    copied = st.sampled_from([copy.deepcopy, repickled])
    cuts = st.lists(st.booleans(), max_size=3)
    trap = st.one_of(st.none(), st.integers(0, 30))
    names = st.sampled_from(list(cls().get_params()))
    step = st.one_of(
        st.tuples(st.just("partial_fit"), chunks(), copied, cuts, trap),
        st.tuples(st.just("partial_fit"), chunks(), copied, cuts, st.none()),
        st.tuples(st.just("fit"), chunks()),
        st.tuples(st.just("predict"), chunks()),
        st.tuples(st.just("set_params"), names, st.sampled_from([*WRONG, 0.5, Own()])),
        st.tuples(st.just("merge"), chunks(), st.booleans()),
        st.tuples(st.just("changed_file"), st.integers(0, 2**32), st.sampled_from(["adareg", "skops"])),
        st.tuples(st.just("outputs"), st.sampled_from(list(ALIASES)), st.sampled_from(["checkpoint", "predictions"])),
        st.tuples(st.just("interrupted_search"), chunks(), st.integers(1, 400), st.sampled_from([None, None, 2])),
        st.tuples(st.just("readers"), chunks()),
        st.tuples(st.just("copies"), st.sampled_from([clone, copy.deepcopy, repickled])),
    )
    return {"case": cases(cls), "steps": st.lists(step, min_size=1, max_size=6)}


@given(**strategy(AdaRegClassifier))
@SHORT
def test_a_short_attack_on_the_classifier(case, steps):
    attack(case, steps)


@given(**strategy(AdaRegRegressor))
@SHORT
def test_a_short_attack_on_the_regressor(case, steps):
    attack(case, steps)


@pytest.mark.long
@pytest.mark.parametrize("cls", [AdaRegClassifier, AdaRegRegressor])
def test_a_long_attack(cls):
    """With -rP it prints how many calls it made."""
    before = Attack.calls

    def steps_of(case, steps):  # a function of its own: settings can be applied once to each
        attack(case, steps)

    try:
        given(**strategy(cls))(LONG(seed(SEED)(steps_of)))()
    finally:
        print(f"{cls.__name__}: {Attack.calls - before} calls, seed {SEED}")


def test_rows_of_1e33_after_ordinary_ones_leave_an_inverse_of_numbers():
    """Rounding made zᵀPz negative, and the root of a weight no number; found by seed 2206."""
    params = {"scaling": None, "potential": "ons", "structure": "full"}
    case = Case(cls=AdaRegRegressor, params=params, width=40, labels=[0, 1], targets=0)
    ordinary, large = (Chunk(0, 10, sizes, "ordinary", "none", "dense", None) for sizes in ("ordinary", "large"))
    learn = ("partial_fit", ordinary, copy.deepcopy, [], None)
    attack(case, [learn, learn, ("readers", large), ("changed_file", 0, "adareg")])
