"""Steps of the attack that are more than calls of one model: merges, files, searches, readers in other threads."""

import os
import pickle
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

from sklearn_adareg import AdaRegClassifier, ProgressiveSearch, load_model, merge, save_model
from sklearn_adareg.streams import fit_stream

from . import changed_files
from .attack_cases import CONTAINERS
from .interrupts import Interrupt

READ = "coef_ intercept_ t_ progressive_loss_ progressive_curve_ memory_ candidate_weights_".split()
ALIASES = {
    "itself": lambda path: path,
    "around": lambda path: path.parent / ".." / path.parent.name / path.name,
    "symbolic link": lambda path: linked(path, Path.symlink_to),
    "hard link": lambda path: linked(path, Path.hardlink_to),
}


def linked(path, link):
    """Another name of a file."""
    name = path.with_name("link" + path.suffix)
    link(name, path)
    return name


def contents(thing, skip=()):
    """Plain values and bytes, all the way down."""
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return thing.shape, str(thing.dtype), thing.tobytes()
    if sparse.issparse(thing):
        return contents(vars(thing), skip=("_has_canonical_format", "_has_sorted_indices"))
    if isinstance(thing, list | tuple):
        return [contents(part, skip) for part in thing]
    if isinstance(thing, dict):
        return {name: contents(part, skip) for name, part in thing.items() if name not in skip}
    if type(thing).__module__.startswith("sklearn_adareg") and hasattr(thing, "__dict__"):
        return contents(vars(thing), skip)
    return repr(thing)


def snapshot(model):
    """All that a model holds but what is computed from it when it is first asked for, and its locks."""
    return contents(vars(model), skip=("snapshot", "runtime", "rates", "dual", "D", "_accepted", "_guard"))


def repickled(model):
    """A copy by pickle."""
    return pickle.loads(pickle.dumps(model))


class Steps:
    """Of an attack with a ``model``, a ``case``, and a ``call`` that judges what is raised."""

    @property
    def begun(self):
        """Whether there is a model."""
        return hasattr(self.model, "t_")

    def merge(self, chunk, based):
        """One finite model of two, which goes on learning; the two stay as they are, whether or not they can be merged."""
        if not self.begun:
            return
        twin, base = repickled(self.model), repickled(self.model)
        X, y, weight, _ = self.data(chunk)
        self.learn(twin, CONTAINERS[chunk.container](X), y, weight)
        held = snapshot(self.model), snapshot(twin)
        merged, error = self.call(lambda: merge([self.model, twin], base if based else None))
        assert (snapshot(self.model), snapshot(twin)) == held, "merging has changed a model"
        if error is None:
            self.model = merged
            self.check()
            self.learn(merged, *self.good_rows())

    def changed_file(self, number, way):
        """A file with one field changed is refused in a sentence, or is a model that crashes nothing."""
        if not self.begun:
            return
        rng, model = np.random.default_rng(number), repickled(self.model)
        kept = repickled(model.__getstate__())
        vars(model)["__getstate__"] = lambda: kept
        try:
            with np.errstate(all="ignore"):
                changed_files.change_field(rng, kept, repickled(kept))
            content = changed_files.file_of(model, way)
        except Exception:  # no file has such a value
            return
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            path = Path(folder, f"m.{way}")
            path.write_bytes(content)
            try:
                loaded = load_model(path)
            except ValueError as refused:
                words = str(refused)
                if not words.endswith(".") or "\n" in words:
                    raise AssertionError(words) from refused
                return
            X, y, _ = self.good_rows()
            try:
                changed_files.use(loaded, np.tile(X, (10, 1)), np.concatenate([y] * 10))
            except Exception:  # of a model that is none of ours
                return

    def outputs(self, kind, output):
        """A source is no output, by whatever name; a model is written whole or not at all."""
        X, y, _ = self.good_rows()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "y"])
            lines = [",".join(map(str, [*row, np.ravel(target)[0]])) for row, target in zip(X, y, strict=True)]
            path.write_text("\n".join([header, *lines, ""]))
            alias, held = ALIASES[kind](path), path.read_bytes()
            given = {"target": "y", "progress": False, output: alias}
            _, error = self.call(lambda: fit_stream(clone(self.model), path, **given))
            assert error is not None
            assert path.read_bytes() == held, "the source is gone"
            old, files = Path(folder, "old.adareg"), len(os.listdir(folder))
            old.write_bytes(b"old")
            error = self.call(lambda: save_model(self.model, old))[1]
            assert len(os.listdir(folder)) == files + 1, "something was left behind"
            if error is not None:
                assert old.read_bytes() == b"old", "what cannot be saved has replaced a file"
            elif self.begun:
                assert snapshot(load_model(old)).keys() == snapshot(self.model).keys()

    def interrupted_search(self, chunk, n, n_jobs):
        """Ctrl-C at any point leaves a search whose trials have all learnt from all rows of a call, or none from any."""
        X, y, *_ = self.data(chunk)
        first = {"classes": self.case.labels} if self.case.cls is AdaRegClassifier else {}
        search = ProgressiveSearch(clone(self.model).set_params(n_jobs=None), {"random_state": [0, 1]}, n_jobs=n_jobs)
        good_X, good_y, _ = self.good_rows()
        if self.call(search.partial_fit, good_X, good_y, **first)[1] is not None:
            return
        before, threads = standing(search), threading.active_count()
        stopping = Interrupt(n)
        with stopping:
            self.call(search.partial_fit, CONTAINERS[chunk.container](X), y)
        assert threading.active_count() == threads, "a thread goes on"
        if stopping.fired and search.n_rows_ == len(good_X):
            assert standing(search) == before, "a trial is ahead"
        self.call(search.partial_fit, good_X, good_y)

    def readers(self, chunk):
        """Whoever reads beside a learning call sees models of finished rounds."""
        if not self.begun:
            return
        X, y, weight, _ = self.data(chunk)
        X, rows = CONTAINERS[chunk.container](X), np.zeros((2, self.model.n_features_in_))
        done, strange = threading.Event(), []

        def read():
            while True:
                last = done.is_set()
                for name in READ:
                    try:
                        getattr(self.model, name)
                    except (AttributeError, Warning):  # that another method has
                        pass
                    except Exception as error:
                        strange.append((name, error))
                try:
                    assert np.isfinite(self.model.coef_).all()
                    self.model.predict(rows)
                except Warning:  # frames and arrays by turns
                    pass
                except Exception as error:
                    strange.append(("predict", error))
                if last:
                    return

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for _ in range(3):
                self.learn(self.model, X, y, weight)
        finally:
            done.set()
            thread.join()
        assert not strange, strange[0]


def standing(search):
    """What is known of a search, in plain values."""
    trials = [(one.rows, one.learns, one.parts.tolist(), one.estimator.coef_.tolist()) for one in search._trials]
    return repr((search.n_rows_, search.n_candidates_, trials, search.best_params_))
