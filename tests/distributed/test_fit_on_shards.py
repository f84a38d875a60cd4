"""distributed.fit: shards of every kind, rounds, failures, and lost workers, on joblib's own backends and Dask's local schedulers."""

import os
import pickle
import signal
import time
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.interrupts import by_signals, press_control_c

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, distributed, merge
from sklearn_adareg.distributed import ShardError
from sklearn_adareg.distributed._fit import FAN_IN
from sklearn_adareg.streams import TableEncoder

rng = np.random.default_rng(0)
N, K = 600, 4
X = rng.normal(size=(N, 5)) * [1.0, 100.0, 0.01, 1.0, 1.0]
SCORE = X @ [1.0, 0.01, 50.0, 0.0, -1.0]
Y = np.where(SCORE + rng.logistic(size=N) > 0, "yes", "no")
PARTS = np.array_split(np.arange(N), K)
PAIRS = [(X[p], Y[p]) for p in PARTS]


def expected(model=None, pairs=PAIRS, classes=("no", "yes")):
    make = AdaRegClassifier if model is None else model
    return merge([make().partial_fit(X, y, classes=list(classes)) for X, y in pairs])


def rows_of(part):
    return X[part], Y[part]


def chunks_of(part):
    for half in np.array_split(part, 2):
        yield X[half], Y[half]


def same(one, other):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-9)
    assert one.t_ == other.t_


@pytest.mark.parametrize(
    "shards",
    [PAIRS, [partial(rows_of, p) for p in PARTS], [partial(chunks_of, p) for p in PARTS], [*PAIRS, (X[:0], Y[:0])]],
    ids=["pairs", "functions", "chunks", "empty"],
)
def test_one_round_is_learning_each_shard_and_merging(shards):
    same(distributed.fit(AdaRegClassifier(), shards), expected())


def broken():
    raise OSError("the disk is gone")


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_processes_and_threads_give_the_same_and_a_failed_shard_names_itself(backend):
    with parallel_config(backend=backend, n_jobs=2):
        same(distributed.fit(AdaRegClassifier(), PAIRS, classes=["no", "yes"]), expected())
        with pytest.raises(ShardError, match=r"Shard 1 \(broken\) failed: OSError: the disk is gone"):
            distributed.fit(AdaRegClassifier(), [PAIRS[0], broken], classes=["no", "yes"])


def test_files_weights_and_sparse_rows(tmp_path):
    y = np.where(Y == "yes", 1, -1)
    for k, p in enumerate(PARTS):
        dump_svmlight_file(X[p], y[p], str(tmp_path / f"{k}.svm"), zero_based=False)
    files = distributed.fit(AdaRegClassifier(), [tmp_path / f"{k}.svm" for k in range(K)])
    rows = distributed.fit(AdaRegClassifier(), [(sparse.csr_matrix(X[p]), y[p]) for p in PARTS])
    np.testing.assert_allclose(files.coef_, rows.coef_, rtol=1e-6)
    weights = rng.integers(1, 3, size=N).astype(float)
    weighted = distributed.fit(AdaRegClassifier(), [(X[p], y[p], weights[p]) for p in PARTS])
    models = [AdaRegClassifier().partial_fit(X[p], y[p], [-1, 1], sample_weight=weights[p]) for p in PARTS]
    same(weighted, merge(models))


def test_dataframes_through_a_pipeline():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde")).assign(shop=rng.choice(["x", "y"], N), answer=Y, weight=1.0)
    model = distributed.fit(
        make_pipeline(TableEncoder(n_hashed=16), AdaRegClassifier()),
        [frame.iloc[p] for p in PARTS],
        target="answer",
        sample_weight="weight",
        rounds=2,
    )
    assert model.score(frame.drop(columns=["answer", "weight"]), frame["answer"]) > 0.7
    assert model[-1].t_ == 2 * N


def log_loss(model):
    return np.mean(np.logaddexp(0, -np.where(Y == "yes", 1, -1) * model.decision_function(X)))


def test_further_rounds_go_on_from_the_merged_model():
    one, two = (distributed.fit(AdaRegClassifier(), PAIRS, rounds=r) for r in (1, 2))
    assert two.t_ == 2 * N
    assert log_loss(two) <= log_loss(one) + 1e-3
    assert two.progressive_loss_ == pytest.approx(one.progressive_loss_)  # rows at first sight
    assert two._state.class_counts.sum() == N
    assert not two._revisits


def test_a_fitted_estimator_is_gone_on_from():
    begun = AdaRegClassifier().partial_fit(X[:100], Y[:100], classes=["no", "yes"])
    before = begun.coef_.copy()
    model = distributed.fit(begun, [(X[100:350], Y[100:350]), (X[350:], Y[350:])])
    assert model.t_ == N
    assert np.array_equal(begun.coef_, before)


def test_a_tree_of_merges_is_one_merge():
    parts = np.array_split(np.arange(N), FAN_IN + 4)
    pairs = [(X[p], Y[p]) for p in parts]
    params = {"structure": "diag", "potential": "ons", "eta": 0.5, "epsilon": 1.0}
    make = partial(AdaRegClassifier, **params)
    same(distributed.fit(make(), pairs, classes=["no", "yes"]), expected(make, pairs))
    twice = distributed.fit(make(), pairs, rounds=2)
    merged = expected(make, pairs)
    again = []
    for own, y in pairs:
        model = merge([merged])
        model._revisits = True
        again.append(model.partial_fit(own, y))
    same(twice, merge(again, base=merged))


def test_regression_with_several_targets():
    targets = np.column_stack([SCORE + 5.0, -SCORE])
    model = distributed.fit(AdaRegRegressor(), [(X[p], targets[p]) for p in PARTS])
    assert model.score(X, targets) > 0.99


# ---- failures -------------------------------------------------------------------------------------------------------


def test_rows_that_cannot_be_learnt_name_their_shard():
    with pytest.raises(ShardError, match=r"Shard 0 failed: ValueError: (?s:.*)NaN"):
        distributed.fit(AdaRegClassifier(), [(X * np.nan, Y)], classes=["no", "yes"])
    with pytest.raises(ShardError, match=r"Shard 1 \(broken\) failed: OSError"):
        distributed.fit(AdaRegClassifier(), [PAIRS[0], broken])


def killed_once(flag, part):
    """The worker dies, once."""
    if not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return X[part], Y[part]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    shards = [*PAIRS[:-1], partial(killed_once, str(tmp_path / "flag"), PARTS[-1])]
    with parallel_config(backend="loky", n_jobs=2):
        model = distributed.fit(AdaRegClassifier(), shards, classes=["no", "yes"])
    assert (tmp_path / "flag").exists()
    same(model, expected())


def test_refusals():
    with pytest.raises(ValueError, match="this is StandardScaler"):
        distributed.fit(StandardScaler(), PAIRS)
    with pytest.raises(ValueError, match="would learn something else in every shard"):
        distributed.fit(make_pipeline(StandardScaler(), AdaRegClassifier()), PAIRS)
    with pytest.raises(ValueError, match="rounds=0 is no number of rounds"):
        distributed.fit(AdaRegClassifier(), PAIRS, rounds=0)
    with pytest.raises(ValueError, match="There are no shards"):
        distributed.fit(AdaRegClassifier(), [])
    with pytest.raises(ValueError, match="The shards have no rows"):
        distributed.fit(AdaRegClassifier(), [(X[:0], Y[:0])], classes=["no", "yes"])
    with pytest.raises(TypeError, match="pass a list"):
        distributed.fit(AdaRegClassifier(), "rows.svm")


# ---- Dask collections, on its local schedulers ----------------------------------------------------------------------


def test_dask_arrays_and_dataframes():
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    pd = pytest.importorskip("pandas")
    rows, labels = da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=200)
    with dask.config.set(scheduler="synchronous"):
        same(distributed.fit(AdaRegClassifier(), (rows, labels)), expected())
        dd = pytest.importorskip("dask.dataframe")
        frame = pd.DataFrame(X, columns=list("abcde")).assign(answer=Y)
        table = dd.from_pandas(frame, npartitions=K, sort=False)
        model = distributed.fit(AdaRegClassifier(), table, target="answer")
        assert model.t_ == N
        pair = distributed.fit(AdaRegClassifier(), (table.drop(columns="answer"), table["answer"]))
        np.testing.assert_allclose(pair.coef_, model.coef_, rtol=1e-9)
        with pytest.raises(TypeError, match="A Dask array alone has no targets"):
            distributed.fit(AdaRegClassifier(), rows)
        with pytest.raises(ValueError, match="have 2 and 4 partitions"):
            distributed.fit(AdaRegClassifier(), (table, table["answer"].repartition(npartitions=2)))


@by_signals
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_control_c_ends_all_shards(backend):
    wide = np.random.default_rng(1).normal(size=(60_000, 100))
    labels = (wide[:, 0] > 0).astype(int)
    model = AdaRegClassifier("adagrad", "full", eta=1.0, scaling=None)
    model.partial_fit(wide[:100], labels[:100], classes=[0, 1])
    before = pickle.dumps(model)
    with parallel_config(backend, n_jobs=2):
        press_control_c(lambda: distributed.fit(model, [(wide, labels)] * 4))
    assert pickle.dumps(model) == before


def test_a_shard_that_fails_ends_the_others():
    """In the threads of this process nobody goes on learning for nothing."""
    wide = np.random.default_rng(1).normal(size=(60_000, 100))
    labels = (wide[:, 0] > 0).astype(int)
    model = AdaRegClassifier("adagrad", "full", eta=1.0, scaling=None)
    begun = time.perf_counter()
    with parallel_config("threading", n_jobs=2), pytest.raises(ShardError, match="Shard 1"):
        distributed.fit(model, [(wide, labels), (wide[:10] * np.nan, labels[:10])], classes=[0, 1])
    assert time.perf_counter() - begun < 5.0, "a pass over a shard takes 30 s"
