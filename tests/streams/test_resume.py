"""Killed at any moment and started again, fit_stream ends with the model of an uninterrupted run, to the bit."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.streams import CSVStream, ParquetStream, SvmlightStream, TableEncoder, fit_stream

pytest.importorskip("pyarrow")
CHUNKS, ROWS = 60, 50
# A process of its own: a line for each chunk, so that the parent knows that learning goes on.
PROGRAM = """
import pickle, sys, time
from test_resume import MODELS, SOURCES, fit_stream

def report(progress):
    print(progress.rows, flush=True)
    time.sleep(0.01)

kind, name, folder = sys.argv[1:]
model = fit_stream(
    MODELS[name](), SOURCES[kind](folder), target="target", checkpoint=folder + "/checkpoint",
    every=1, predictions=folder + "/predictions.csv", progress=report,
)
with open(folder + "/model.pickle", "wb") as file:
    pickle.dump(model, file)
"""
SOURCES = {
    "parquet": lambda folder: ParquetStream(f"{folder}/rows.parquet", chunk_rows=ROWS),
    "csv": lambda folder: CSVStream(f"{folder}/rows.csv", chunk_bytes=3000),
    "svmlight": lambda folder: SvmlightStream(f"{folder}/rows.svm", chunk_bytes=3000),
}
MODELS = {
    "classifier": AdaRegClassifier,
    "hashed": lambda: make_pipeline(
        TableEncoder(n_hashed=2**10), AdaRegClassifier(loss="hinge", class_weight="balanced")
    ),
    "scaled": lambda: make_pipeline(TableEncoder(categories={"colour": ["red"]}), StandardScaler(), AdaRegClassifier()),
}


def write_rows(folder):
    rng = np.random.default_rng(0)
    n = CHUNKS * ROWS
    X = rng.normal(size=(n, 4))
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1, 0)
    dump_svmlight_file(X, y, f"{folder}/rows.svm")
    table = pd.DataFrame(X, columns=list("abcd")).assign(colour=rng.choice(["red", "green"], n), target=y)
    table.to_csv(f"{folder}/rows.csv", index=False)
    table.to_parquet(f"{folder}/rows.parquet", row_group_size=333)


def states(model):
    """All arrays and numbers that a model has learnt, to the bit."""
    last = model[-1] if hasattr(model, "steps") else model
    return [
        (name, np.shape(value), np.array(value).tobytes())
        for block in last._state.blocks
        for name, value in block.without_room().items()
    ]


def kill_and_resume(kind, name, folder, kills, seed):
    """Kill the process at random moments, so many times, then let it end; how many rows each run began behind."""
    dice = random.Random(seed)
    begun_at = []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kind, name, str(folder)], stdout=subprocess.PIPE, text=True, env=environment
        )
        with process:
            first = process.stdout.readline()
            begun_at.append(int(first or -1))
            if len(begun_at) <= kills:
                time.sleep(dice.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
            process.stdout.read()
        if process.returncode == 0:
            return begun_at
        assert process.returncode == -signal.SIGKILL


needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")


@needs_kill
@pytest.mark.parametrize(
    ("kind", "name", "kills"),
    [
        pytest.param("parquet", "hashed", 3, marks=pytest.mark.slow),
        pytest.param("csv", "scaled", 2, marks=pytest.mark.slow),
        pytest.param("svmlight", "classifier", 2, marks=pytest.mark.slow),
        pytest.param("parquet", "scaled", 20, marks=pytest.mark.long),
        pytest.param("csv", "hashed", 20, marks=pytest.mark.long),
    ],
)
def test_killed_at_random_it_ends_with_the_same_model(kind, name, kills, tmp_path):
    write_rows(tmp_path)
    whole = tmp_path / "whole.csv"
    expected = fit_stream(MODELS[name](), SOURCES[kind](tmp_path), target="target", predictions=whole, progress=False)
    begun_at = kill_and_resume(kind, name, tmp_path, kills, seed=kills)
    assert len(begun_at) == kills + 1
    assert len(set(begun_at)) > 1, "no run went on from a checkpoint"
    found = pickle.loads((tmp_path / "model.pickle").read_bytes())
    assert states(found) == states(expected)
    assert (tmp_path / "predictions.csv").read_bytes() == whole.read_bytes()


# ---- in one process ---------------------------------------------------------------------------------------------------

rng = np.random.default_rng(1)
PARTS = [(x := rng.normal(size=(ROWS, 3)), x.sum(axis=1)) for _ in range(10)]


class Stop(Exception):
    pass


def stop_after(rows):
    def report(progress):
        if progress.rows >= rows:
            raise Stop

    return report


def interrupted(checkpoint, model=None, parts=PARTS, rows=4 * ROWS, **options):
    with pytest.raises(Stop):
        fit_stream(
            model or AdaRegRegressor(), parts, checkpoint=checkpoint, every=ROWS, progress=stop_after(rows), **options
        )


def test_it_goes_on_at_the_last_checkpoint_and_reads_no_row_twice(tmp_path):
    interrupted(tmp_path / "c")
    seen = []
    model = fit_stream(AdaRegRegressor(), lambda: iter(PARTS), checkpoint=tmp_path / "c", progress=seen.append)
    assert seen[0].rows == 4 * ROWS  # the fourth chunk was learnt from but stood in no checkpoint
    whole = fit_stream(AdaRegRegressor(), PARTS, progress=False)
    assert states(model) == states(whole)


def test_a_finished_checkpoint_gives_its_model_at_once(tmp_path):
    first = fit_stream(AdaRegRegressor(), PARTS, checkpoint=tmp_path / "c", progress=False)
    again = fit_stream(AdaRegRegressor(), PARTS, checkpoint=tmp_path / "c", progress=stop_after(0))
    assert states(again) == states(first)
    assert again.t_ == 10 * ROWS


def test_the_number_of_checkpoints_follows_every(tmp_path, monkeypatch):
    from sklearn_adareg.streams import _checkpoint

    written = []
    monkeypatch.setattr(_checkpoint, "write", lambda path, content: written.append(content["rows"]))
    fit_stream(AdaRegRegressor(), PARTS, checkpoint=tmp_path / "c", every=120, progress=False)
    assert written == [150, 300, 450, 500]


def test_a_process_that_dies_while_it_writes_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    from sklearn_adareg.streams import _checkpoint

    _checkpoint.write(tmp_path / "c", {"old": 1})
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(Stop()))
    with pytest.raises(Stop):
        _checkpoint.write(tmp_path / "c", {"new": 2})
    assert _checkpoint.read(tmp_path / "c") == {"old": 1}


def changed_file(tmp_path):
    write_rows(tmp_path)
    target = {"target": "target"}
    stream = CSVStream(tmp_path / "rows.csv", chunk_bytes=3000)
    model = make_pipeline(TableEncoder(), AdaRegClassifier())
    interrupted(tmp_path / "c", model, stream, rows=100, **target)
    with open(tmp_path / "rows.csv", "a") as file:
        file.write("1,1,1,1,red,1\n")
    return model, CSVStream(tmp_path / "rows.csv", chunk_bytes=3000), target


def other_chunks(tmp_path):
    model, stream, target = changed_file(tmp_path)
    write_rows(tmp_path)
    return model, CSVStream(stream.files, chunk_bytes=4000), target


def other_parameters(tmp_path):
    interrupted(tmp_path / "c")
    return AdaRegRegressor(eta=0.5), PARTS, {}


def other_list(tmp_path):
    interrupted(tmp_path / "c")
    return AdaRegRegressor(), [(X[:10], y[:10]) for X, y in PARTS], {}


def no_predictions(tmp_path):
    interrupted(tmp_path / "c", predictions=tmp_path / "p.csv")
    [part] = tmp_path.glob("p.csv.*.part")
    part.unlink()
    return AdaRegRegressor(), PARTS, {"predictions": tmp_path / "p.csv"}


def damaged(tmp_path):
    interrupted(tmp_path / "c")
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:-9])
    return AdaRegRegressor(), PARTS, {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (changed_file, "belongs to another run: the source differs"),
        (other_chunks, "belongs to another run: the source differs"),
        (other_parameters, r"the parameter eta differs \(\"'auto'\" before, '0.5' now\)"),
        (other_list, "The first 3 chunks have 30 rows and had 150"),
        (no_predictions, "put the file back"),
        (damaged, "is no checkpoint of sklearn_adareg, or is damaged"),
    ],
)
def test_what_does_not_fit_the_checkpoint_is_refused(change, sentence, tmp_path):
    model, source, options = change(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        fit_stream(model, source, checkpoint=tmp_path / "c", progress=False, **options)
