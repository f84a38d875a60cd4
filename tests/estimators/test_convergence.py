"""Many epochs with a penalty come to the optimum of the batch problem.

The objective is the mean loss + α((1−ρ)/2 ‖coef‖² + ρ‖coef‖₁), the intercept free in both: our α
is Lasso's and ElasticNet's, n·α is Ridge's, and 1/(n·α) is LogisticRegression's C.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from support.data import FourthRoot, estimator

CLOSE = 1e-3  # relative to the optimum


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, ::5]
    return X / np.abs(X).max(axis=0), 2 * y - 1


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[::2], y[::2]
    return X / np.abs(X).max(axis=0), y / np.abs(y).max()


def objective(X, y, coef, intercept, loss, alpha, l1_ratio):
    margins = X @ np.ravel(coef) + intercept
    losses = np.logaddexp(0, -y * margins) if loss == "log_loss" else (margins - y) ** 2 / 2
    ridge, lasso = np.sum(np.square(coef)) / 2, np.sum(np.abs(coef))
    return np.mean(losses) + alpha * ((1 - l1_ratio) * ridge + l1_ratio * lasso)


def batch_model(X, y, loss, alpha, l1_ratio):
    """scikit-learn's, to many digits."""
    n = len(y)
    if loss == "squared_error":
        model = {0.0: Ridge(alpha=n * alpha), 1.0: Lasso(alpha=alpha, tol=1e-10)}.get(
            l1_ratio, ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-10)
        )
    elif l1_ratio == 0.0:
        model = LogisticRegression(C=1 / (n * alpha), tol=1e-10, max_iter=10_000)
    else:
        model = LogisticRegression(C=1 / (n * alpha), l1_ratio=l1_ratio, solver="saga", tol=1e-8, max_iter=10_000)
    return model.fit(X, y)


def gap(loss, alpha, l1_ratio, model, data):
    """How far above the optimum a model is, as a share of it."""
    X, y = data
    problem = {"loss": loss, "alpha": alpha, "l1_ratio": l1_ratio}
    best = batch_model(X, y, **problem)
    optimum = objective(X, y, best.coef_, best.intercept_, **problem)
    return objective(X, y, model.coef_, model.intercept_, **problem) / optimum - 1


def assert_converges(loss, potential, structure, eta, epochs, alpha, l1_ratio=0.0, **params):
    data = breast_cancer() if loss == "log_loss" else diabetes()
    make = {"alpha": alpha, "l1_ratio": l1_ratio, "average": 2.0, "epsilon": 1.0, **params}
    if eta is not None:
        make["eta"] = eta
    model = estimator(potential, structure, loss=loss, max_iter=epochs, shuffle=True, **make)
    model.set_params(random_state=0).fit(*data)
    above = gap(loss, alpha, l1_ratio, model, data)
    assert -1e-6 < above < CLOSE
    # Weights that are off by a fifth do not pass.
    model.coef_[...] *= 1.2
    assert gap(loss, alpha, l1_ratio, model, data) > CLOSE


# Step sizes from a search over 0.03 … 10; a factor of 3 either way does no harm.
LOG_LOSS_L2 = [
    ("adagrad", "full", 0.5, 60),
    ("adagrad", "diag", 1.0, 200),
    ("adagrad", "iso", 1.0, 200),
    ("pnorm", "full", 0.3, 60),
    ("pnorm", "diag", 0.3, 200),
    ("pnorm", "iso", 0.3, 200),
    ("ons", "full", 3.0, 60),
]


@pytest.mark.parametrize(("potential", "structure", "eta", "epochs"), LOG_LOSS_L2)
def test_log_loss_comes_to_logistic_regression(potential, structure, eta, epochs):
    assert_converges("log_loss", potential, structure, eta, epochs, alpha=1e-2)


SQUARED_ERROR_L2 = [
    ("adagrad", "full", 0.1, 60),
    ("adagrad", "diag", 0.1, 200),
    ("adagrad", "iso", 0.1, 200),
    ("pnorm", "full", 0.03, 60),
    ("pnorm", "diag", 0.03, 200),
    ("pnorm", "iso", 0.03, 200),
    ("ons", "full", 0.3, 60),
]


@pytest.mark.parametrize(("potential", "structure", "eta", "epochs"), SQUARED_ERROR_L2)
def test_squared_error_comes_to_ridge(potential, structure, eta, epochs):
    assert_converges("squared_error", potential, structure, eta, epochs, alpha=1e-2)


@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(("potential", "eta"), [("adagrad", 2.0), ("pnorm", 0.7)])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_log_loss_comes_to_saga_with_an_l1_penalty(l1_ratio, potential, eta, structure):
    assert_converges("log_loss", potential, structure, eta, 300, alpha=1e-2, l1_ratio=l1_ratio)


@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(("potential", "eta"), [("adagrad", 0.03), ("pnorm", 0.03)])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_squared_error_comes_to_lasso_and_elastic_net(l1_ratio, potential, eta, structure):
    assert_converges("squared_error", potential, structure, eta, 300, alpha=3e-3, l1_ratio=l1_ratio)


@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize(("loss", "eta", "alpha"), [("log_loss", 2.0, 1e-2), ("squared_error", 0.1, 3e-3)])
def test_dual_averaging_comes_there_too(loss, eta, alpha, structure):
    for l1_ratio in (0.0, 0.5):
        assert_converges(loss, "adagrad", structure, eta, 300, alpha, l1_ratio, update="dual_averaging")


def test_a_users_potential_comes_there_too():
    assert_converges("log_loss", FourthRoot(0.1), "diag", None, 100, alpha=1e-2)


def test_the_last_iterate_of_dual_averaging_is_sparse_where_the_optimum_is():
    """An average never is; this iterate has the exact zeros of the prox of all rounds at once."""
    X, y = diabetes()
    best = Lasso(alpha=3e-3).fit(X, y)
    assert 0 < np.count_nonzero(best.coef_) < 10
    model = estimator(
        "adagrad",
        "diag",
        loss="squared_error",
        update="dual_averaging",
        eta=0.1,
        epsilon=1.0,
        alpha=3e-3,
        l1_ratio=1.0,
        average=False,
        max_iter=300,
        shuffle=True,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_array_equal(model.coef_ != 0, best.coef_ != 0)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=0.02)
