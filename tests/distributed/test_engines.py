"""distributed.fit on real engines: a local cluster of Dask, and Ray on this machine. ``.ci/engines`` runs these."""

import os
import signal
import time

import numpy as np
import pytest
from joblib import parallel_config

from sklearn_adareg import AdaRegClassifier, distributed, merge
from sklearn_adareg.distributed import ShardError

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("default"),  # of the engines
]
rng = np.random.default_rng(0)
N, K = 2000, 8
X = rng.normal(size=(N, 6)) * [1.0, 100.0, 0.01, 1.0, 1.0, 5.0]
Y = (X @ [1.0, 0.01, 50.0, 0.0, -1.0, 0.1] + rng.logistic(size=N) > 0).astype(int)
PARTS = np.array_split(np.arange(N), K)
PAIRS = [(X[p], Y[p]) for p in PARTS]


def expected():
    return merge([AdaRegClassifier().partial_fit(a, b, classes=[0, 1]) for a, b in PAIRS])


def same(one, other):
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    assert one.t_ == other.t_


def rows(part):
    """A shard that finds its rows where it is learnt."""

    def find():
        return X[part], Y[part]

    return find


def dying(flag, part):
    """The same; the first worker that comes to it dies."""

    def find():
        if not os.path.exists(flag):
            open(flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return X[part], Y[part]

    return find


def broken_shard():
    """A function that engines carry along: workers cannot import this file."""

    def broken():
        raise OSError("the disk is gone")

    return broken


# ---- Dask -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    dask = pytest.importorskip("dask.distributed")
    with (
        dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        dask.Client(cluster) as client,
    ):
        yield client


def test_arrays_learn_on_the_workers(cluster):
    da = pytest.importorskip("dask.array")
    arrays = da.from_array(X, chunks=(N // K, 6)), da.from_array(Y, chunks=N // K)
    same(distributed.fit(AdaRegClassifier(), arrays), expected())
    two = distributed.fit(AdaRegClassifier(), arrays, classes=[0, 1], rounds=2)
    assert two.t_ == 2 * N


def sent_by_workers(client):
    """Bytes that workers have sent to one another, and to the client."""
    logs = client.run(lambda dask_worker: sum(e["total"] for e in dask_worker.transfer_outgoing_log))
    return sum(logs.values())


def test_rows_never_come_to_the_client(cluster):
    da = pytest.importorskip("dask.array")
    made_there = da.random.default_rng(0).normal(size=(400, 5000), chunks=(100, 5000))
    labels = da.arange(400, chunks=100) % 2
    before = sent_by_workers(cluster)
    model = distributed.fit(AdaRegClassifier(structure="iso"), (made_there, labels), classes=[0, 1])
    assert model.t_ == 400
    while_fitting, before = sent_by_workers(cluster) - before, sent_by_workers(cluster)
    made_there.compute()
    assert while_fitting < (sent_by_workers(cluster) - before) / 4


def test_joblib_on_dask_with_a_worker_that_is_killed(cluster, tmp_path):
    shards = [*map(rows, PARTS[:-1]), dying(str(tmp_path / "flag"), PARTS[-1])]
    with parallel_config(backend="dask"):
        model = distributed.fit(AdaRegClassifier(), shards, classes=[0, 1])
    assert (tmp_path / "flag").exists()
    same(model, expected())


def test_a_collection_with_a_worker_that_is_killed(cluster, tmp_path):
    da = pytest.importorskip("dask.array")
    flag = str(tmp_path / "flag")

    def kill_once(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == K - 1 and not os.path.exists(flag):
            open(flag, "w").close()
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    arrays = da.from_array(X, chunks=(N // K, 6)), da.from_array(Y, chunks=N // K)
    arrays = arrays[0].map_blocks(kill_once, dtype=float, meta=np.empty((0, 0))), arrays[1]
    model = distributed.fit(AdaRegClassifier(), arrays, classes=[0, 1])
    assert os.path.exists(flag)
    same(model, expected())


def test_a_failed_shard_names_itself_on_dask(cluster):
    with (
        parallel_config(backend="dask"),
        pytest.raises(ShardError, match=r"Shard 1 \(broken\) failed: OSError: the disk is gone"),
    ):
        distributed.fit(AdaRegClassifier(), [PAIRS[0], broken_shard()], classes=[0, 1])


# ---- Ray ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield ray
    ray.shutdown()


def test_ray_gives_the_same(ray):
    with parallel_config(backend="ray", n_jobs=2):
        same(distributed.fit(AdaRegClassifier(), [*map(rows, PARTS)], classes=[0, 1]), expected())


def test_ray_with_a_worker_that_is_killed(ray, tmp_path):
    shards = [*map(rows, PARTS[:-1]), dying(str(tmp_path / "flag"), PARTS[-1])]
    with parallel_config(backend="ray", n_jobs=2):
        model = distributed.fit(AdaRegClassifier(), shards, classes=[0, 1])
    assert (tmp_path / "flag").exists()
    same(model, expected())


def test_a_failed_shard_names_itself_on_ray(ray):
    with (
        parallel_config(backend="ray", n_jobs=2),
        pytest.raises(ShardError, match=r"Shard 1 \(broken\) failed: OSError: the disk is gone"),
    ):
        distributed.fit(AdaRegClassifier(), [PAIRS[0], broken_shard()], classes=[0, 1])
