"""Model files with something changed in them, each loaded and, where that succeeds, predicting and learning on.

Half of the changes are aimed at single fields of the recipe and at shapes and values of arrays, half are random bits and bytes. A
change of a field comes with whatever else makes the file look whole: its checksum, and at times arrays of the shapes that the changed
recipe asks for.

Runs in a process of its own, which may crash: ``python changed_files.py SEED FIRST END PROGRESS``. The file PROGRESS has the number
of the case under way.
"""

import faulthandler
import io
import lzma
import pickle
import sys
import warnings
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from sklearn_adareg import AdaReg, AdaRegClassifier, AdaRegRegressor, load_model
from sklearn_adareg.model import _recipe, _registry
from sklearn_adareg.persistence import _model_files

FOLDER = Path(__file__).parents[1] / "ecosystem" / "pickles"
FILES = sorted(
    path
    for path in FOLDER.glob("*.pickle")
    if not path.name.startswith("0.1.0-") and path.stem.partition("-")[2] not in ("results", "search")
)
YOUNG = ("labels", "classes", "one against the rest", "columns", "sparse", "half over")  # that keep rows
LONGEST = 120  # seconds, after which a case hangs
WAYS = ("adareg", "adareg", "skops", "pickle")
NUMBERS = (
    *(np.nan, np.inf, -np.inf, -1, 0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 0.5, -0.5, 1e300, 1e-300, 5e-324, 1e9),
    *(2.0**45, 2.0**53, 2.0**62, 2**31, 2**63, 10**20, 10**400),
)
OTHERS = (
    *(True, False, None, "", "auto", (), (1.0,), (0.5, 0.5), (1.0,) * 9, (1, 0), {}, [], np.zeros(2)),
    *(np.float32(0.5), np.float64(np.nan), {"p": 2.0}, {"huber_delta": 1.0}, {"margin": np.nan}),
    *(*_registry.METHODS, *_registry.STRUCTURES, *_registry.POTENTIALS, *_registry.UPDATES),
    *(*_registry.CLASSIFICATION_LOSSES, *_registry.REGRESSION_LOSSES, *filter(None, _registry.DOMAINS)),
)


@cache
def saved(number):
    """The bytes of a model of today, and rows and targets."""
    if number >= len(FILES):
        return young(YOUNG[number - len(FILES)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = pickle.loads(lzma.decompress(FILES[number].read_bytes()))
        model = pickle.loads(content["model"])
    return pickle.dumps(model), content["X"], content["y"]


def young(kind):
    """A model that still keeps rows, or the rows of a block."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 70 if kind == "sparse" else 4))
    score = X[:, :3] @ [1.0, -2.0, 0.5] + rng.normal(size=60)
    y = np.digitize(score, [-1.0, 1.0]) if kind in YOUNG[1:3] else (score > 0).astype(int)
    model = AdaRegClassifier(loss="hinge" if kind == YOUNG[2] else "log_loss", structure="full")
    first = {"classes": np.unique(y)}
    if kind == "columns":
        model, y, first = AdaRegRegressor(), np.column_stack([score, X[:, 0]]), {}
    if kind == "sparse":
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.2, X, 0.0))
    times = 25 if kind == "half over" else 1  # beyond the rows that are all kept
    order = np.tile(np.arange(45), times)
    return pickle.dumps(model.partial_fit(X[order], y[order], **first)), X, y


def pick(rng, values):
    return values[rng.integers(len(values))]


# ---- changes of fields -----------------------------------------------------------------------------------------------


def change_field(rng, kept, other):
    """Change one thing in what a model kept; ``other`` is what another one did."""
    state = kept["_state"]
    kind = rng.random()
    if kind < 0.5:
        change_recipe(rng, state, other["_state"]["recipe"])
    elif kind < 0.85:
        change_array(rng, pick(rng, state["blocks"])["arrays"], pick(rng, other["_state"]["blocks"]))
    else:
        part = pick(rng, [kept, state, state, state["progress"], pick(rng, state["blocks"])])
        change_entry(rng, part)


def change_recipe(rng, state, other):
    recipe = state["recipe"]
    for _ in range(1 + rng.integers(3) * (rng.random() < 0.3)):
        name = pick(rng, sorted(recipe))
        recipe[name] = changed(rng, recipe[name], other[name])
    if rng.random() < 0.5:  # with arrays to match, where there are any
        try:
            made = _recipe.from_plain(recipe)
            if made.n_outputs * made.D * made.rates < 10_000:
                fresh = _recipe.allocate(made, made.n_outputs)
                fresh["clock"] = state["blocks"][0]["arrays"]["clock"]
                state["blocks"] = [{"n_outputs": made.n_outputs, "arrays": fresh}]
        except Exception:
            return


def changed(rng, value, other):
    """Another value in place of this one."""
    kind = rng.integers(5)
    if kind == 0:
        return other
    if kind == 1:
        return pick(rng, NUMBERS)
    if kind == 2:
        return pick(rng, OTHERS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float) and kind == 3:
        return pick(rng, [value + 1, value - 1, value * 2, -value, float(value), str(value)])
    if isinstance(value, tuple) and value:
        place = rng.integers(len(value))
        return pick(rng, [value[:-1], (*value, value[-1]), (*value[:place], pick(rng, NUMBERS), *value[place + 1 :])])
    if isinstance(value, dict) and value:
        return {name: changed(rng, each, each) for name, each in value.items()}
    return pick(rng, NUMBERS)


def change_array(rng, arrays, other):
    names = sorted(arrays)
    name = pick(rng, names)
    array = arrays[name]
    if not isinstance(array, np.ndarray) or rng.random() < 0.4:
        arrays[name] = pick(
            rng,
            [
                None,
                ("x",),
                arrays[pick(rng, names)],
                other["arrays"].get(name),
                np.asarray(array)[..., :-1] if np.ndim(array) else np.zeros(3),
                np.asarray(array)[:0] if np.ndim(array) else np.zeros(0),
                np.asarray(array).T,
                np.asarray(array).ravel(),
                np.repeat(np.asarray(array), 2, axis=0) if np.ndim(array) else None,
                *([array.astype(">f8"), array.astype("f4")] if isinstance(array, np.ndarray) else []),
            ],
        )
        if rng.random() < 0.1:
            del arrays[name]
        return
    whole = array.dtype.kind == "i"
    array = arrays[name] = np.array(array, dtype=array.dtype if whole else np.float64)
    if not array.size:
        return
    value = min(pick(rng, [*NUMBERS, *array.shape, array.size]), 1e308)
    if whole:
        array.flat[rng.integers(array.size)] = int(np.nan_to_num(np.clip(value, -(2**31), 2**31 - 1)))
        return
    if rng.random() < 0.2:
        array[...] = value
        return
    for _ in range(1 + rng.integers(4)):
        place = rng.integers(array.size)
        old = array.flat[place]
        array.flat[place] = pick(rng, [value, -old, old + 1, old - 1, old * 1e10, old / 2])


def change_entry(rng, part):
    name = pick(rng, sorted(part))
    if rng.random() < 0.15:
        del part[name]
    elif isinstance(part[name], np.ndarray) and rng.random() < 0.7 and part[name].dtype.kind == "f":
        change_array(rng, part, {"arrays": {}})
    else:
        part[name] = changed(rng, part[name], part[name])


# ---- changes of bytes ------------------------------------------------------------------------------------------------


def change_bytes(rng, content):
    """Bits flipped, bytes set, taken out or repeated, or the end cut off."""
    content = bytearray(content)
    if not content:
        return b"x"
    for _ in range(1 + rng.integers(3)):
        at, kind = int(rng.integers(len(content))), rng.integers(10)
        if kind < 5:
            content[at] ^= 1 << int(rng.integers(8))
        elif kind < 7:
            content[at] = int(rng.integers(256))
        elif kind == 7:
            del content[at : at + int(rng.integers(1, 20))]
        elif kind == 8:
            content[at:at] = content[at : at + int(rng.integers(1, 20))]
        else:
            del content[at:]
        if not content:
            break
    return bytes(content)


def change_member(rng, content):
    """A zip file that is whole, with changed bytes in one member."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = pick(rng, [names[0], *names])
        for name in names:
            member = old.read(name)
            new.writestr(name, change_bytes(rng, member) if name == chosen else member)
    return _model_files._sealed(out.getvalue())


# ---- a case ----------------------------------------------------------------------------------------------------------


def file_of(model, way):
    """The bytes of a model file."""
    if way == "pickle":
        return pickle.dumps(model)
    pack = _model_files._archive if way == "adareg" else _model_files._skops_archive
    return _model_files._sealed(pack(model, zipfile.ZIP_STORED))


def play(seed, number, folder):
    """What came of one changed file, in a word."""
    rng = np.random.default_rng([seed, number])
    number = len(FILES) + rng.integers(len(YOUNG)) if rng.random() < 0.3 else rng.integers(len(FILES))
    whole, X, y = saved(int(number))
    way, aimed = pick(rng, WAYS), rng.random() < 0.5
    model = pickle.loads(whole)
    estimator = model[-1] if isinstance(model, Pipeline) else model
    if aimed:
        other = pickle.loads(saved(int(rng.integers(len(FILES))))[0])
        other = other[-1] if isinstance(other, Pipeline) else other
        kept = pickle.loads(pickle.dumps(estimator.__getstate__()))
        change_field(rng, kept, other.__getstate__())
        vars(estimator)["__getstate__"] = lambda: kept  # what files are made of
        try:
            content = file_of(model, way)
        except Exception:  # no file has such a value
            way, content = "pickle", pickle.dumps(model)
    else:
        content = file_of(model, way)
        zipped = way != "pickle"
        kind = rng.integers(3)
        content = change_member(rng, content) if zipped and kind else change_bytes(rng, content)
    if way == "pickle":
        try:
            model = pickle.loads(content)
        except Exception as error:
            return f"pickle refused: {type(error).__name__}"
    else:
        path = folder / f"m.{way}"
        path.write_bytes(content)
        try:
            model = load_model(path)
        except ValueError as error:
            return f"{way} refused" + " in several lines" * ("\n" in str(error))
    if not hasattr(model, "__getstate__") or not hasattr(model, "__dict__"):
        return f"{way} holds something else"
    try:
        use(model, X, y)
    except Exception as error:
        return f"{way} loaded, then {type(error).__name__}"
    return f"{way} loaded"


def use(model, X, y):
    """Predict and learn on."""
    if isinstance(model, AdaReg):
        for z, target in zip(X[-10:], y[-10:], strict=True):
            model.step(z, slope=float(z @ model.x - target))
        return model.x, model.G, model.H, pickle.dumps(model)
    model.predict(X)
    last = model
    if isinstance(model, Pipeline):
        last, X = model[-1], model[0].transform(X)
    for part in (slice(-1, None), slice(-15, None), np.tile(np.arange(15), 30)):
        last.partial_fit(X[part], y[part])
        last.predict(X)
    seen = last.coef_, last.progressive_curve_, last.memory_, pickle.dumps(last)
    return seen, last.forget_rows().coef_


def main(seed, first, end, progress):
    """Play some cases; prints what came of them."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    outcomes = Counter()
    with TemporaryDirectory() as folder:
        for number in range(first, end):
            Path(progress).write_text(str(number))
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            outcomes[play(seed, number, Path(folder))] += 1
    faulthandler.cancel_dump_traceback_later()
    for outcome, count in sorted(outcomes.items()):
        print(f"{count} {outcome}")


if __name__ == "__main__":
    faulthandler.enable()
    main(*map(int, sys.argv[1:4]), sys.argv[4])
