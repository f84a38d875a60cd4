"""A CSR matrix whose arrays do not fit each other is refused in a sentence, before a kernel sees it."""

import numpy as np
import pytest
from scipy import sparse
from support.data import STRUCTURES, estimator, learn, rows, target

X, SCORE = rows(0, n=40)
Y = target("log_loss", SCORE)


def csr(**changes):
    """The rows as CSR, with some of its arrays replaced behind scipy's back."""
    matrix = sparse.csr_array(X)
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


def moved(where, by):
    pointers = sparse.csr_array(X).indptr.copy()
    pointers[where] += by
    return pointers


def repeated():
    """A row of 60 values in 5 columns that claims to name no column twice."""
    pointers = np.concatenate([[0], np.full(40, 60)]).astype(np.int32)
    matrix = sparse.csr_array((np.ones(60), np.arange(60, dtype=np.int32) % 5, pointers), (40, 5))
    matrix.has_canonical_format = True
    return matrix


GOOD = sparse.csr_array(X)
BROKEN = {
    "pointer beyond the values": lambda: csr(indptr=moved(-1, 1000)),
    "pointers that fall": lambda: csr(indptr=moved(3, 50)),
    "first pointer": lambda: csr(indptr=moved(0, -4)),
    "too few pointers": lambda: csr(indptr=GOOD.indptr[:-5]),
    "too few values": lambda: csr(data=GOOD.data[:-7]),
    "too few columns numbers": lambda: csr(indices=GOOD.indices[:-7]),
    "column too large": lambda: csr(indices=GOOD.indices + 10**6),
    "column negative": lambda: csr(indices=GOOD.indices - 10**6),
    "canonical by name only": repeated,
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_csr_matrix_is_refused(broken, structure):
    words = "build the (CSR )?matrix anew"
    new, running = estimator("adagrad", structure), learn(estimator("ons", structure), X, Y)
    before = running.coef_.copy()
    predictions = [lambda: running.predict(BROKEN[broken]()), lambda: running.decision_function(BROKEN[broken]())]
    for attempt in [
        lambda: new.fit(BROKEN[broken](), Y),
        lambda: new.partial_fit(BROKEN[broken](), Y, classes=[-1, 1]),
        lambda: running.partial_fit(BROKEN[broken](), Y),
        *predictions,
    ]:
        if broken == "canonical by name only" and attempt in predictions:
            attempt()  # adds up what comes twice
            continue
        with pytest.raises(ValueError, match=words):
            attempt()
    assert not hasattr(new, "coef_")
    np.testing.assert_array_equal(running.coef_, before)


def test_columns_named_twice_are_added_up():
    doubled = sparse.csr_array((np.tile(GOOD.data / 2, 1).repeat(2), GOOD.indices.repeat(2), 2 * GOOD.indptr), (40, 5))
    one, other = learn(estimator(), GOOD, Y), learn(estimator(), doubled, Y)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-12)
