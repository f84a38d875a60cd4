"""fit_stream: partial_fit on the same rows, with less memory, in one thread more."""

import io
import os
import queue
import select
import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.interrupts import by_signals, press_control_c

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor
from sklearn_adareg.streams import ChunkStream, CSVStream, ParquetStream, SvmlightStream, TableEncoder, fit_stream

pytest.importorskip("pyarrow")
quiet = {"progress": False}
rng = np.random.default_rng(0)
X = rng.normal(size=(900, 4)) * [1, 100, 0.1, 5]
SCORE = X @ [1, 0.01, 5, 0.1] + 0.3 * rng.normal(size=900)
LABELS = np.where(SCORE > 0, "yes", "no")
COLUMNS = list("abcd")
CHUNKS = [slice(0, 100), slice(100, 101), slice(101, 700), slice(700, 900)]


def frame(target=LABELS):
    return pd.DataFrame(X, columns=COLUMNS).assign(target=target)


def pairs(y=LABELS):
    return [(X[part], y[part]) for part in CHUNKS]


def learnt(y=LABELS, model=None):
    model = model or (AdaRegClassifier() if y is LABELS else AdaRegRegressor())
    further = {"classes": ["no", "yes"]} if y is LABELS else {}
    return model.partial_fit(X, y, **further)


@pytest.mark.parametrize("y", [LABELS, SCORE], ids=["classifier", "regressor"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "svmlight", "list", "callable", "iterator", "frames"])
def test_it_equals_partial_fit_to_the_bit(kind, y, tmp_path):
    model = AdaRegClassifier() if y is LABELS else AdaRegRegressor()
    options = {"target": "target"}
    if kind == "parquet":
        frame(y).to_parquet(tmp_path / "rows.parquet")
        source = ParquetStream(tmp_path / "rows.parquet", chunk_rows=70)
    elif kind == "csv":
        frame(y).to_csv(tmp_path / "rows.csv", index=False)
        source = CSVStream(tmp_path / "rows.csv", chunk_bytes=1000)
    elif kind == "svmlight":
        y = np.where(y == "yes", 7, -3) if y is LABELS else y
        dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
        source, options = tmp_path / "rows.svm", {}
    elif kind == "frames":
        source = [frame(y).iloc[part] for part in CHUNKS]
    else:
        source = {"list": pairs(y), "callable": lambda: iter(pairs(y)), "iterator": iter(pairs(y))}[kind]
        options = {"classes": ["yes", "no"]} if kind == "iterator" and y is LABELS else {}
    assert fit_stream(model, source, **options, **quiet) is model
    if kind == "svmlight":
        own = AdaRegClassifier().partial_fit(X, y, classes=[-3, 7]) if y.dtype.kind == "i" else learnt(y)
        assert getattr(model, "classes_", np.array([0])).dtype.kind == "i"
        np.testing.assert_allclose(model.coef_, own.coef_, rtol=1e-9)  # a sparse kernel
    else:
        np.testing.assert_array_equal(model.coef_, learnt(y).coef_)
        np.testing.assert_array_equal(model.intercept_, learnt(y).intercept_)
        assert model.progressive_loss_ == pytest.approx(learnt(y).progressive_loss_, rel=1e-12)
    assert model.t_ == 900


def test_classes_are_found_in_all_of_the_source(tmp_path):
    """The first 800 rows have one label only."""
    late = np.where(np.arange(900) < 800, "early", "late")
    frame(late).to_csv(tmp_path / "rows.csv", index=False)
    for source in (tmp_path / "rows.csv", [frame(late)[:800], frame(late)[800:]]):
        model = fit_stream(AdaRegClassifier(), source, target="target", **quiet)
        assert model.classes_.tolist() == ["early", "late"]


def test_labels_keep_their_type(tmp_path):
    for target, kind in [(SCORE > 0, "b"), ((SCORE > 0) + 1, "i"), ((SCORE > 0) * 2.0, "i")]:
        frame(target).to_parquet(tmp_path / "rows.parquet")
        model = fit_stream(AdaRegClassifier(), tmp_path / "rows.parquet", target="target", **quiet)
        assert model.classes_.dtype.kind == kind
        assert set(model.classes_.tolist()) == set(target.tolist())


def test_several_targets_and_weights(tmp_path):
    weight = rng.integers(0, 3, 900).astype(float)
    frame(SCORE).assign(second=-SCORE, weight=weight).to_parquet(tmp_path / "rows.parquet")
    model = fit_stream(
        AdaRegRegressor(), tmp_path / "rows.parquet", target=["target", "second"], sample_weight="weight", **quiet
    )
    own = AdaRegRegressor().partial_fit(X, np.column_stack([SCORE, -SCORE]), sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, own.coef_)
    triples = [(X[part], SCORE[part], weight[part]) for part in CHUNKS]
    model = fit_stream(AdaRegRegressor(), triples, **quiet)
    own = AdaRegRegressor().partial_fit(X, SCORE, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, own.coef_)


def test_transformers_of_a_pipeline_learn_along():
    model = make_pipeline(StandardScaler(), IncrementalPCA(2), AdaRegClassifier())
    fit_stream(model, lambda: iter(pairs()), **quiet)
    scaler, pca, last = StandardScaler(), IncrementalPCA(2), AdaRegClassifier()
    for rows, y in pairs():
        rows = scaler.partial_fit(rows).transform(rows)
        rows = pca.partial_fit(rows).transform(rows)
        last.partial_fit(rows, y, classes=["no", "yes"])
    np.testing.assert_array_equal(model[-1].coef_, last.coef_)
    np.testing.assert_allclose(model[0].mean_, X.mean(axis=0), rtol=1e-9)
    assert model.score(X, LABELS) > 0.6


def test_transformers_that_need_no_fit_and_fitted_ones_serve():
    words = [(["good film", "bad film"] * 20, ["+", "-"] * 20)] * 3
    chunks = [(np.array(text, dtype=object), np.array(y)) for text, y in words]
    model = make_pipeline(HashingVectorizer(n_features=2**8), AdaRegClassifier())
    fit_stream(model, chunks, **quiet)
    assert model.predict(["good", "bad"]).tolist() == ["+", "-"]
    fitted = make_pipeline(PCA(3).fit(X), AdaRegClassifier())
    assert fit_stream(fitted, pairs(), **quiet).score(X, LABELS) > 0.6


def test_categories_by_the_encoder_of_a_pipeline(tmp_path):
    colour = rng.choice(["red", "green", "blue"], 900)
    y = SCORE + 3.0 * (colour == "red")
    table = frame(y).assign(colour=colour)
    table.to_parquet(tmp_path / "rows.parquet")
    table.to_csv(tmp_path / "rows.csv", index=False)
    predictions = []
    for source in (tmp_path / "rows.parquet", tmp_path / "rows.csv", [table[:9], table[9:]]):
        model = make_pipeline(TableEncoder(n_hashed=2**10), AdaRegRegressor())
        fit_stream(model, source, target="target", **quiet)
        predictions.append(model.predict(table.drop(columns="target")))
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])
    assert np.corrcoef(predictions[0], y)[0, 1] > 0.95


def test_a_foreign_estimator_learns_too():
    model = fit_stream(SGDClassifier(random_state=0), pairs(), **quiet)
    own = SGDClassifier(random_state=0)
    for rows, y in pairs():
        own.partial_fit(rows, y, classes=["no", "yes"])
    np.testing.assert_array_equal(model.coef_, own.coef_)


def test_a_fitted_model_goes_on():
    model = learnt()
    fit_stream(model, pairs(), **quiet)
    own = learnt(model=learnt())
    np.testing.assert_array_equal(model.coef_, own.coef_)


# ---- predictions ------------------------------------------------------------------------------------------------------


def test_predictions_of_a_foreign_estimator_are_made_chunk_by_chunk(tmp_path):
    model = SGDClassifier(loss="log_loss", random_state=0)
    fit_stream(model, pairs(), predictions=tmp_path / "p.csv", **quiet)
    found = pd.read_csv(tmp_path / "p.csv")
    assert found["target"].tolist() == LABELS.tolist()
    assert list(found) == ["target", "probability:no", "probability:yes"]
    own = SGDClassifier(loss="log_loss", random_state=0)
    assert found[:100]["probability:yes"].isna().all()
    for number, (rows, y) in enumerate(pairs()):
        if number:
            np.testing.assert_array_equal(
                found[["probability:no", "probability:yes"]][CHUNKS[number]], own.predict_proba(rows)
            )
        own.partial_fit(rows, y, classes=["no", "yes"])


# ---- reading ahead, memory, progress ----------------------------------------------------------------------------------


def test_reading_a_file_and_learning_overlap(tmp_path):
    """Ten chunks that take .05 s to read and .05 s to learn take little more than half a second, not one."""

    class SlowFile(SvmlightStream):
        def _read(self, *place):
            for chunk in super()._read(*place):
                time.sleep(0.05)
                yield chunk

    class Slow(AdaRegRegressor):
        def partial_fit(self, X, y):
            time.sleep(0.05)
            return super().partial_fit(X, y)

    dump_svmlight_file(X[:100], SCORE[:100], str(tmp_path / "rows.svm"))
    size = (tmp_path / "rows.svm").stat().st_size
    source = SlowFile(tmp_path / "rows.svm", n_features=4, chunk_bytes=size // 10)
    begun = time.perf_counter()
    fit_stream(Slow(), source, **quiet)
    assert 0.5 < time.perf_counter() - begun < 0.9


def test_a_chunk_is_asked_for_when_the_one_before_has_been_learnt():
    """By the thread that called, so that an interrupt loses no row that was read."""
    model = AdaRegRegressor()

    def chunks():
        for part in CHUNKS:
            assert threading.current_thread() is threading.main_thread()
            assert part.start == (model.t_ if hasattr(model, "t_") else 0)
            yield X[part], SCORE[part]

    fit_stream(model, chunks(), **quiet)


class Pipe:
    """An iterator over chunks whose row numbers come through a pipe, a byte each; it has no more than it was fed."""

    def __init__(self):
        self.out, self.into = os.pipe()
        self.waits = threading.Event()

    def feed(self, numbers):
        os.write(self.into, bytes(numbers))

    def __iter__(self):
        return self

    def __next__(self):
        if not select.select([self.out], [], [], 0)[0]:
            self.waits.set()
        [number] = os.read(self.out, 1)
        if number == 255:
            raise StopIteration
        return X[CHUNKS[number]], SCORE[CHUNKS[number]]


def sleeper(waits):
    yield X[:100], SCORE[:100]
    waits.set()
    time.sleep(60)


def queued(waits):
    waiting = queue.Queue()
    waiting.put((X[:100], SCORE[:100]))
    while True:
        yield waiting.get()
        waits.set()


@by_signals
@pytest.mark.parametrize("source", [sleeper, queued])
def test_control_c_is_answered_while_a_source_stalls(source):
    waits, model = threading.Event(), AdaRegRegressor()
    press_control_c(lambda: fit_stream(model, source(waits), **quiet), waits, restarts=False)
    np.testing.assert_array_equal(model.coef_, AdaRegRegressor().partial_fit(X[:100], SCORE[:100]).coef_)


@by_signals
def test_control_c_loses_no_row_of_a_pipe():
    pipe, model = Pipe(), AdaRegRegressor()
    pipe.feed([0, 1, 2])
    press_control_c(lambda: fit_stream(model, pipe, **quiet), pipe.waits, restarts=False)
    assert model.t_ == 700
    pipe.feed([3, 255])
    fit_stream(model, pipe, **quiet)
    np.testing.assert_array_equal(model.coef_, learnt(SCORE).coef_)


@by_signals
def test_control_c_ends_the_thread_that_reads_a_file(tmp_path):
    dump_svmlight_file(X, SCORE, str(tmp_path / "rows.svm"))
    source = SvmlightStream([tmp_path / "rows.svm"] * 10_000, n_features=4)
    model = AdaRegRegressor()
    press_control_c(lambda: fit_stream(model, source, **quiet))
    assert 0 < model.t_ < 9_000_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_source():
    """A hundred chunks of 1.6 MB: at most a few are held at a time."""

    def chunks():
        for seed in range(100):
            rows = np.random.default_rng(seed).normal(size=(20_000, 10))
            yield rows, rows[:, 0]

    fit_stream(AdaRegRegressor(), [(np.zeros((2, 10)), np.zeros(2))], **quiet)
    tracemalloc.start()
    fit_stream(AdaRegRegressor(), chunks, **quiet)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 1.6e6


def test_no_thread_is_left_after_an_error():
    def chunks():
        yield X, SCORE
        yield X * np.nan, SCORE
        yield from [(X, SCORE)] * 50

    model = AdaRegRegressor()
    with pytest.raises(ValueError, match="NaN") as refusal:
        fit_stream(model, chunks(), **quiet)
    assert refusal.value.__notes__ == ["In rows 900 to 1799 of the stream."]
    assert not [t for t in threading.enumerate() if t.name == "adareg-read-ahead"]
    np.testing.assert_array_equal(model.coef_, learnt(SCORE).coef_)  # what was learnt before stays


def test_an_error_of_the_source_is_raised_where_it_belongs():
    def chunks():
        yield X, SCORE
        raise OSError("the disk is gone")

    model = AdaRegRegressor()
    with pytest.raises(OSError, match="the disk is gone"):
        fit_stream(model, chunks, **quiet)
    assert model.t_ == 900


def test_progress_can_be_watched():
    seen = []
    fit_stream(AdaRegRegressor(), pairs(SCORE), progress=seen.append)
    assert [p.rows for p in seen] == [100, 101, 700, 900, 900]
    assert [p.finished for p in seen] == [False] * 4 + [True]
    assert [p.done for p in seen] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert seen[-1].loss == pytest.approx(learnt(SCORE).progressive_loss_, rel=1e-12)
    assert all(p.rows_per_second > 0 for p in seen)
    assert seen[1].seconds_left >= 0


def test_progress_is_printed_to_the_standard_error(capsys, monkeypatch):
    fit_stream(AdaRegRegressor(), pairs(SCORE))
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 3  # 100 rows, 700, and the end: each twice the last
    assert lines[-1].startswith("900 rows, ")
    assert "rows/s, loss 0." in lines[-1]

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    fit_stream(AdaRegRegressor(), pairs(SCORE))
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().rstrip().endswith("in all")


# ---- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fit_stream(LogisticRegression(), pairs()), "has no partial_fit"),
        (
            lambda: fit_stream(make_pipeline(PCA(), AdaRegClassifier()), pairs()),
            "PCA has no partial_fit, so it cannot learn along",
        ),
        (lambda: fit_stream(AdaRegClassifier(), iter(pairs())), r"pass all labels as classes=\[…\]"),
        (
            lambda: fit_stream(AdaRegRegressor(), iter(pairs(SCORE)), checkpoint="c"),
            "cannot be resumed with an iterator",
        ),
        (lambda: fit_stream(AdaRegRegressor(), [frame(SCORE)]), "target is None"),
        (lambda: fit_stream(AdaRegRegressor(), [frame(SCORE)], target="q"), "none of that name"),
        (
            lambda: fit_stream(AdaRegRegressor(), [frame(SCORE)], target="target", sample_weight="q"),
            "sample_weight names the column 'q'",
        ),
        (
            lambda: fit_stream(AdaRegRegressor(), [frame(SCORE).assign(t="x")], target="target"),
            r"'t' holds text.*make_pipeline\(TableEncoder\(\), model\)",
        ),
        (lambda: fit_stream(AdaRegRegressor(), [frame()], target="target"), "a regressor needs numbers"),
        (
            lambda: fit_stream(AdaRegRegressor(), [frame(np.where(SCORE > 0, SCORE, np.nan))], target="target"),
            r"Row \d+ of the stream has no target",
        ),
        (lambda: fit_stream(AdaRegRegressor(), [], progress=False), "has no rows"),
        (lambda: fit_stream(AdaRegRegressor(), pairs(SCORE), every=0), "every=0"),
        (
            lambda: fit_stream(AdaRegRegressor(), ChunkStream([frame(SCORE).assign(t=np.nan)]), target="target"),
            "missing value",
        ),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
