"""A search that is interrupted stands as it did before the call, all of its trials, and goes on."""

import threading

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from support.interrupts import Interrupt, by_signals, press_control_c

from sklearn_adareg import AdaRegClassifier, ProgressiveSearch

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 60))
Y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
GRID = {"structure": ["full", "diag", "iso"], "eta": [0.1, 1.0]}
# A pass over all rows takes a trial tens of seconds, and none is dropped before its end.
SLOW = {"alpha": [1e-5, 2e-5, 3e-5]}


class Slow(AdaRegClassifier):
    """Decomposes a matrix in every round, and tells when it begins to learn."""

    learns = threading.Event()

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.learns.set()
        return super().partial_fit(X, y, classes, sample_weight)


def slow_search(n_jobs):
    slow = Slow("adagrad", "full", eta=0.1, refresh=0.0)
    return search(n_jobs, slow, SLOW).set_params(min_rows=len(X))


def press_control_c_while_it_learns(call):
    Slow.learns.clear()
    press_control_c(call, Slow.learns)


def search(n_jobs=None, estimator=None, grid=GRID):
    return ProgressiveSearch(AdaRegClassifier("adagrad") if estimator is None else estimator, grid, n_jobs=n_jobs)


def standing(found):
    """All that is known of a search, in plain words: NaN is NaN."""
    trials = [(one.rows, one.learns, one.parts.tolist()) for one in found._trials]
    learnt = [one.estimator.coef_.tolist() for one in found._trials]
    results = {name: np.asarray(values).tolist() for name, values in found.cv_results_.items()}
    return repr((found.n_rows_, found.n_candidates_, trials, learnt, found.best_params_, results))


def assert_goes_on_as(found, twin, part):
    for each in (found, twin):
        each.partial_fit(X[part], Y[part])
    assert found.n_rows_ == twin.n_rows_ == part.stop
    for one, other in zip(found._trials, twin._trials, strict=True):
        assert (one.rows, one.learns) == (other.rows, other.learns)
        np.testing.assert_array_equal(one.estimator.coef_, other.estimator.coef_)


@by_signals
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_control_c_leaves_a_search_of_whole_chunks_and_no_thread(n_jobs):
    found, twin = (slow_search(n_jobs).partial_fit(X[:2000], Y[:2000], classes=[0, 1]) for _ in range(2))
    before = standing(found)
    press_control_c_while_it_learns(lambda: found.partial_fit(X, Y))
    assert standing(found) == before
    assert found.n_rows_ == max(one.rows for one in found._trials) == 2000
    assert_goes_on_as(found, twin, slice(2000, 2600))


@by_signals
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_control_c_in_fit_keeps_the_search_that_was_there(n_jobs):
    found = slow_search(n_jobs)
    press_control_c_while_it_learns(lambda: found.fit(X, Y))
    assert not hasattr(found, "n_rows_")
    found.fit(X[:600], Y[:600])
    before = standing(found)
    press_control_c_while_it_learns(lambda: found.fit(X, Y))
    assert standing(found) == before


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("estimator", [AdaRegClassifier("adagrad"), SGDClassifier(loss="log_loss", random_state=0)])
def test_an_interrupt_at_any_point_leaves_a_search_of_whole_chunks(estimator, n_jobs):
    grid = {"alpha": [1e-4, 1e-2]}
    fired, n = True, 1
    while fired:
        found, twin = (search(n_jobs, estimator, grid).partial_fit(X[:40], Y[:40], classes=[0, 1]) for _ in range(2))
        before, interrupt, threads = standing(found), Interrupt(n), threading.active_count()
        with interrupt:
            found.partial_fit(X[40:100], Y[40:100])
        assert threading.active_count() == threads
        fired = interrupt.fired
        if found.n_rows_ == 40:
            assert standing(found) == before
            assert_goes_on_as(found, twin, slice(40, 100))
        else:
            twin.partial_fit(X[40:100], Y[40:100])
        assert found.n_rows_ == 100
        assert_goes_on_as(found, twin, slice(100, 130))
        n += 1 + n // 20
    assert n > 20, "the whole call has run"


def test_a_call_in_which_all_trials_fail_changes_nothing():
    found = search().partial_fit(X[:40], Y[:40], classes=[0, 1])
    before = standing(found)
    with pytest.warns(match="failed and is dropped"), pytest.raises(ValueError, match="All trials"):
        found.partial_fit(X[40:80] * np.nan, Y[40:80])
    assert standing(found) == before
    found.partial_fit(X[40:80], Y[40:80])
    assert found.n_rows_ == 80
