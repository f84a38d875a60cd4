"""What makes a pass fast changes nothing: other loops for other machines, padding, rows that are checked on the way."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, SpectralPotential
from sklearn_adareg._kernels.losses import _losses
from sklearn_adareg._kernels.potentials import _potentials
from sklearn_adareg._kernels.preconditioners.diagonal import _diagonal
from sklearn_adareg.model._validation import check_finite

PLAIN = {"scaling": None, "eta": 0.5, "epsilon": 0.1, "max_iter": 1, "tol": None, "shuffle": False}


def rows(d, n=60, seed=0, zeros=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) > zeros)
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)


@pytest.fixture
def narrow():
    before = _diagonal.stay_narrow(True)
    yield
    _diagonal.stay_narrow(before)


# --- loops for other machines ---------------------------------------------------------------------

EIGENVALUES = np.concatenate(
    [np.logspace(-300, 300, 601), 1 + np.linspace(0, 3, 500), np.array([5e-324, 2.3e-308, 1e308])]
)


def powers():
    yield _potentials.AdaGrad(), -0.5
    yield _potentials.OnlineNewton(), -1.0
    for p in (1.0, 2.0, 3.0, 0.7):
        yield _potentials.PNorm(p), -1 / (p + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 11, 1104])
def test_steps_are_powers_to_the_last_places(count, narrow):
    for wide in (False, True):
        _diagonal.stay_narrow(not wide)
        for potential, power in powers():
            normal = EIGENVALUES > 1e-290 if power == -1.0 else EIGENVALUES > 2.3e-308
            lam = np.ascontiguousarray(EIGENVALUES[normal][:count])
            answer = potential(lam)
            np.testing.assert_allclose(
                answer,
                lam.astype(np.longdouble) ** np.longdouble(power),
                rtol=4e-15 if power in (-0.5, -1.0) else 1e-13,
            )


@pytest.mark.parametrize("d", range(1, 19))
def test_wide_and_narrow_vectors_learn_the_same(d, narrow):
    X, y = rows(d)
    for kind in (np.asarray, sparse.csr_array):
        for params in (PLAIN, {"max_iter": 1, "shuffle": False, "structure": "diag"}):
            pair = []
            for stay in (True, False):
                _diagonal.stay_narrow(stay)
                pair.append(AdaRegClassifier("adagrad", **{"structure": "diag", **params}).fit(kind(X), y))
            np.testing.assert_allclose(pair[0].coef_, pair[1].coef_, rtol=1e-11, atol=1e-13)
            assert pair[0].progressive_loss_ == pytest.approx(pair[1].progressive_loss_, rel=1e-12)


@pytest.mark.parametrize("potential", ["ons", "adagrad"])
def test_blocks_of_a_copy_and_of_a_pickle_learn_to_the_last_bit(potential):
    """Matrices begin where a vector does; elsewhere they are moved there, which changes no number."""
    X, y = rows(32, n=120)
    model = AdaRegClassifier(potential, "block", blocks=16, **PLAIN)
    model.partial_fit(X[:70], y[:70], classes=[0, 1])
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    model.partial_fit(X[70:], y[70:])
    for twin in twins:
        np.testing.assert_array_equal(twin.partial_fit(X[70:], y[70:]).coef_, model.coef_)


# --- padding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("structure", ["diag", "iso"])
@pytest.mark.parametrize("d", [1, 3, 6, 7, 8, 9, 15, 16, 17])
def test_a_copy_and_a_pickle_lie_in_whole_vectors_again(d, structure, averaging):
    X, y = rows(d)
    whole = AdaRegClassifier("adagrad", structure, average=averaging, **PLAIN)
    whole.partial_fit(X, y, classes=[0, 1])
    for keep in (copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        model = AdaRegClassifier("adagrad", structure, average=averaging, **PLAIN)
        model.partial_fit(X[:30], y[:30], classes=[0, 1])
        model = keep(model).partial_fit(X[30:], y[30:])
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        cells = model._state.blocks[0].arrays["cells"]
        assert cells.ctypes.data % 64 == 0
        assert len(cells) == 1 or cells.strides[0] % 64 == 0


# --- the logistic loss ----------------------------------------------------------------------------


def test_the_logistic_loss_is_exact_to_the_last_places():
    margins = np.concatenate([np.linspace(-40, 40, 4001), np.logspace(-18, 2.8, 500)])
    margins = np.concatenate([margins, -margins])
    loss = _losses.LogLoss()
    for y in (1.0, -1.0):
        a = y * margins.astype(np.longdouble)
        exact = np.where(a > 0, np.log1p(np.exp(-abs(a))), np.log1p(np.exp(-abs(a))) - a)
        slope = -y / (1 + np.exp(np.minimum(a, 11000)))
        answers = [loss(np.array([m]), np.array([y])) for m in margins]
        np.testing.assert_allclose([value for value, _ in answers], exact, rtol=2e-15, atol=1e-320)
        np.testing.assert_allclose([s[0] for _, s in answers], slope, rtol=2e-15, atol=1e-320)


@pytest.mark.parametrize("margin", [np.nan, np.inf, -np.inf])
def test_a_margin_that_is_not_finite_has_no_finite_loss(margin):
    for y in (1.0, -1.0):
        value, _ = _losses.LogLoss()(np.array([margin]), np.array([y]))
        assert not np.isfinite(value)


# --- rows that the rounds find not finite ---------------------------------------------------------

SETTINGS = [
    {},
    {"structure": "diag"},
    {"structure": "iso"},
    {"structure": "full", "potential": "adagrad"},
    {"structure": "full", "potential": "ons", "eta": 0.5, "scaling": None},
    {"structure": "diag", "potential": "adagrad", "eta": 0.5, "scaling": None},
    {"structure": "iso", "potential": "adagrad", "eta": 0.5, "scaling": None},
    {"structure": "diag", "alpha": 0.01},
    {"structure": "diag", "domain": "l2", "radius": 1.0},
    {"structure": "diag", "update": "dual_averaging"},
]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("bad", "words"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("where", [(0, 0), (31, 2), (59, 4)])
def test_fit_refuses_rows_that_are_not_finite_and_keeps_the_model(where, bad, words, kind):
    X, y = rows(5, zeros=0.0)
    spoilt = X.copy()
    spoilt[where] = bad
    for settings in SETTINGS:
        for cls, losses in ((AdaRegClassifier, ("log_loss", "hinge")), (AdaRegRegressor, ("squared_error",))):
            for loss in losses:
                model = cls(loss=loss, **settings).fit(kind(X), y)
                before = model.coef_.copy()
                for again in (model, cls(loss=loss, **settings)):
                    with pytest.raises(ValueError, match=f"Input X contains {words}"):
                        again.fit(kind(spoilt), y)
                np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_that_are_no_rounds_are_checked_as_well(kind):
    X, y = rows(5, zeros=0.0)
    spoilt = X.copy()
    spoilt[7, 2] = np.nan
    weights = np.ones(len(y))
    weights[7] = 0.0
    with pytest.raises(ValueError, match="Input X contains NaN"):
        AdaRegClassifier().fit(kind(spoilt), y, sample_weight=weights)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        AdaRegClassifier(class_weight={y[7]: 0.0}).fit(kind(spoilt), y)
    for seed in range(3):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            AdaRegClassifier(early_stopping=True, random_state=seed).fit(kind(spoilt), y)


def test_a_large_chunk_is_checked_before_any_of_it_is_learnt():
    X, y = rows(20, n=2000)
    model = AdaRegClassifier().partial_fit(X[:10], y[:10], classes=[0, 1])
    X[1999, 19] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.partial_fit(X[10:], y[10:])
    assert model.t_ == 10
    check_finite(model, np.full((2000, 20), 1.7e308))  # finite, though its sum is not


# --- column numbers that do not fit ---------------------------------------------------------------


@pytest.mark.parametrize("column", [-1, 5, 2**20])
def test_columns_beyond_the_matrix_are_refused(column):
    X = sparse.csr_array((np.ones(4), np.array([0, 2, 1, 3]), np.array([0, 0, 2, 4, 4])), shape=(4, 5))
    X.indices[3 if column > 0 else 0] = column
    with pytest.raises(ValueError, match=f"column number {column} and 5 columns"):
        AdaRegClassifier().fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=f"column number {column} and 5 columns"):
        AdaRegClassifier().partial_fit(X, [0, 1, 0, 1], classes=[0, 1])


def test_rows_without_any_value_are_rows():
    X = sparse.csr_array((4, 5))
    model = AdaRegClassifier("adagrad", "diag", **PLAIN).fit(X, [0, 1, 1, 1])
    assert model.intercept_[0] > 0


# --- corrections that wait ------------------------------------------------------------------------


def test_a_small_inverse_takes_in_what_an_older_state_has_waiting():
    X, y = rows(6)
    model = AdaRegClassifier("ons", "full", **PLAIN).partial_fit(X[:40], y[:40], classes=[0, 1])
    older = copy.deepcopy(model)
    arrays = older._state.blocks[0].arrays
    v, waiting = np.linspace(-0.1, 0.2, 7), int(arrays["count"][0])
    arrays["P"][0] += 0.5 * np.outer(v, v)
    arrays["pending_v"][0, waiting], arrays["pending_w"][0, waiting] = v, 0.5
    arrays["pending_g"][0, waiting] = 0.0
    arrays["count"][0] += 1
    for each in (model, older):
        each.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(older.coef_, model.coef_, rtol=1e-9)


# --- found by a second look -----------------------------------------------------------------------


@pytest.mark.parametrize("keep", [lambda model: model, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("params", [PLAIN, {"eta": 0.5}, {**PLAIN, "average": False}])
@pytest.mark.parametrize("structure", ["diag", "iso"])
def test_one_coordinate_goes_on_dense_after_sparse_rows(structure, params, keep):
    X, y = rows(1, zeros=0.0)
    pair = []
    for first in (sparse.csr_array, np.asarray):
        model = AdaRegClassifier("adagrad", structure, fit_intercept=False, **params)
        model = keep(model.partial_fit(first(X[:20]), y[:20], classes=[0, 1]))
        pair.append(model.partial_fit(X[20:], y[20:]).coef_)
    np.testing.assert_allclose(*pair, rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-100, 1e-85, 1e-82, 1e85])
def test_the_default_knows_no_unit_however_small(unit):
    X, y = rows(3, n=300, zeros=0.0)
    plain = AdaRegClassifier(shuffle=False).fit(X, y)
    tiny = AdaRegClassifier(shuffle=False).fit(X * [unit, 1.0, unit], y)
    assert plain.structure_ == "full"
    np.testing.assert_allclose(tiny.decision_function(X * [unit, 1.0, unit]), plain.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("structure", ["diag", "iso", "full"])
def test_a_stray_column_amid_a_row_is_found_though_scipy_swears_it_is_sorted(structure, kind):
    X = sparse.random_array((50, 20), density=0.3, format="csr", rng=np.random.default_rng(0))
    X = sparse.csr_array((X.data, X.indices.astype(kind), X.indptr.astype(kind)), shape=X.shape)
    y = np.arange(50) % 2
    model = AdaRegClassifier("adagrad", structure).fit(X, y)
    before = model.coef_.copy()
    assert X.has_canonical_format
    for column in (10_000_000, -3):
        X.indices[X.indptr[3] + 1] = column
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=f"column number {column} and 20 columns"):
                learn(X, y)
        np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("indptr", [[0, 3, 2, 4], [0, 2, 3, 9], [-1, 2, 3, 4]])
def test_rows_that_overlap_or_lie_beyond_the_data_are_refused(indptr):
    X = sparse.csr_array((np.ones(4), np.array([0, 1, 2, 0]), np.array([0, 2, 3, 4])), shape=(3, 3))
    X.indptr[:] = indptr
    X.has_canonical_format = True
    with pytest.raises(ValueError, match="indptr does not fit its data"):
        AdaRegClassifier("adagrad", "diag").fit(X, [0, 1, 0])


def test_the_names_of_parameters_are_nobodys_to_change():
    AdaRegClassifier._get_param_names().append("junk")
    assert "junk" not in AdaRegClassifier().get_params()

    class Other(AdaRegClassifier):
        def __init__(self, eta=0.1):
            super().__init__(eta=eta)

    assert Other._get_param_names() == ["eta"]
    assert len(AdaRegClassifier._get_param_names()) > 20


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_labels_too_large_to_be_whole_numbers_are_refused_as_scikit_learn_does():
    X, y = rows(3)
    with pytest.raises(ValueError, match="Unknown label type"):
        AdaRegClassifier().fit(X, np.where(y, 1e20, 2e20))


@pytest.mark.parametrize("dtype", [bool, np.uint8, ">i4", ">f8", np.float32])
def test_labels_keep_their_type(dtype):
    X, y = rows(3)
    model = AdaRegClassifier().fit(X, y.astype(dtype))
    assert model.classes_.dtype == np.dtype(dtype)
    assert model.predict(X).dtype == np.dtype(dtype)


def test_a_potential_of_ones_own_takes_a_row_without_values():
    class Root(SpectralPotential):
        def psi(self, eigenvalues):
            return 0.3 / np.sqrt(eigenvalues)

    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    for structure in ("diag", "iso"):
        model = AdaRegClassifier(Root(), structure, fit_intercept=False).fit(X, [0, 1, 1, 0])
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("domain", [None, "l2", "l1", "box", "nonnegative"])
@pytest.mark.parametrize("update", ["mirror_descent", "dual_averaging"])
@pytest.mark.parametrize("structure", ["diag", "iso", "full"])
def test_rows_without_values_before_the_first_with_some_teach_nothing(structure, update, domain, kind):
    X, y = rows(4)
    X[:5] = 0.0
    radius = None if domain in (None, "nonnegative") else 1.0
    params = {"domain": domain, "radius": radius, "update": update, "fit_intercept": False}
    for cls in (AdaRegClassifier, AdaRegRegressor):
        model = cls("adagrad", structure, shuffle=False, max_iter=1, **params).fit(kind(X), y)
        assert np.isfinite(model.coef_).all()
        assert np.abs(model.coef_).max() > 0.0
        assert not np.any(cls("adagrad", structure, **params).fit(kind(X[:5]), y[:5]).coef_)


# --- one row at a time ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, int, bool])
def test_rows_in_lists_are_learnt_as_rows_in_arrays(kind):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, size=(40, 3)) if kind is bool else 3 * rng.normal(size=(40, 3))
    rows = rows.astype(kind)
    labels = np.array(["no", "yes"])[(rows[:, 0] > rows[:, 1]).astype(int)]
    lists, arrays = AdaRegClassifier(), AdaRegClassifier()
    for i in range(len(rows)):
        part = rows[i : i + 1]
        lists.partial_fit(part.tolist(), labels[i : i + 1].tolist(), classes=["no", "yes"])
        arrays.partial_fit(part.astype(float), labels[i : i + 1], classes=["no", "yes"])
        np.testing.assert_array_equal(lists.predict_proba(part.tolist()), arrays.predict_proba(part.astype(float)))
    np.testing.assert_array_equal(lists.coef_, arrays.coef_)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[1.0, None]], [["a", "b"]], [[1j, 2.0]], [1.0, 2.0], [[]], []])
def test_lists_that_are_no_rows_of_numbers_are_refused_by_scikit_learn(rows):
    model = AdaRegRegressor().partial_fit([[1.0, 2.0], [3.0, 5.0]], [1.0, 2.0])
    before = model.coef_.copy()
    with pytest.raises((ValueError, TypeError)):
        model.partial_fit(rows, [1.0] * len(rows))
    with pytest.raises((ValueError, TypeError)):
        model.predict(rows)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"], list(range(30))])
def test_classes_may_come_with_every_call_in_any_form(labels):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.array(labels)[np.arange(60) % len(labels)]
    once, always = AdaRegClassifier().partial_fit(X, y, classes=labels), AdaRegClassifier()
    forms = [labels, labels[::-1], np.array(labels), tuple(labels)]
    for i in range(60):
        always.partial_fit(X[i : i + 1], y[i : i + 1], classes=forms[i % 4])
    np.testing.assert_array_equal(once.coef_, always.coef_)
    stranger = "stranger" if isinstance(labels[0], str) else 77
    for wrong in (labels[:-1], [*labels[:-1], stranger], np.array(labels[1:])):
        with pytest.raises(ValueError, match=r"this model (has learnt|does not know)"):
            always.partial_fit(X[:1], y[:1], classes=wrong)


@pytest.mark.parametrize("label", [2, -1, 0.5, np.nan, "1"])
def test_a_single_row_with_a_label_that_is_none_is_refused(label):
    model = AdaRegClassifier().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError):
        model.partial_fit([[1.0]], [label])
    assert model.t_ == 2


def test_a_value_that_is_not_finite_is_found_in_every_place_and_precision():
    for dtype in (np.float64, np.float32):
        model = AdaRegRegressor().partial_fit(np.eye(9, dtype=dtype), np.arange(9.0))
        for place in range(9):
            for value in (np.nan, np.inf, -np.inf):
                row = np.ones((1, 9), dtype=dtype)
                row[0, place] = value
                with pytest.raises(ValueError, match=r"NaN|infinity"):
                    model.predict(row)
                with pytest.raises(ValueError, match=r"NaN|infinity"):
                    model.partial_fit(row, [1.0])


def test_parameters_that_were_accepted_once_are_told_from_equal_ones_of_another_type():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    AdaRegClassifier("adagrad", average=True, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="average=1 is ambiguous"):
        AdaRegClassifier("adagrad", average=1, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="'max_iter' parameter"):
        AdaRegClassifier("adagrad", average=True, max_iter=1.0).fit(X, y)
