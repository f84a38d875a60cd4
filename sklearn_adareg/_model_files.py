"""Models in files without pickle: skops, or an archive of JSON and arrays.

The archive (suffix ``.adareg``) is a zip file. ``model.json`` holds ``{"format": 1, "model": value}``, ``N.npy`` the arrays. A value
is null, true, false, a number or a string as it is, or an object with one key that says what it stands for:

=================================  ==========================================================================
``{"list": [value, …]}``           a list; ``"tuple"`` a tuple
``{"dict": [[key, value], …]}``    a dict
``{"float": "nan"}``               a number that JSON has not: nan, inf, −inf
``{"array": N}``                   the array ``N.npy``; ``"scalar"`` the NumPy number in it
``{"objects": [value, …]}``        an array of objects, of one dimension
``{"csr": [value, …]}``            a CSR matrix: data, indices, indptr, shape
``{"NAME": value}``                an object of a class of this package or a Pipeline, and what its ``__getstate__`` returns
=================================  ==========================================================================

Reading it runs no code but this package's.
"""

import io
import json
import math
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy import sparse

FORMAT = 1
OWN, SKOPS = ".adareg", ".skops"
PACKAGE = __name__.split(".")[0]
PIPELINE = "sklearn.pipeline.Pipeline"
DAMAGED = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
)


def save_model(model, path):
    """Save a model in a file that needs no pickle.

    Parameters
    ----------
    model : estimator
        A model of this package, or a Pipeline of a :class:`~sklearn_adareg.streams.TableEncoder` and one; skops also takes other
        estimators of scikit-learn.
    path : path
        The file. ``.skops`` is the format of skops, which has to be installed (extra ``files``); ``.adareg`` a zip archive of JSON
        and arrays that needs nothing else.

    See Also
    --------
    load_model : Read the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_adareg import AdaRegRegressor, load_model, save_model
    >>> model = AdaRegRegressor().partial_fit([[0.0], [1.0]], [0.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.adareg")
    ...     load_model(Path(folder) / "model.adareg").t_
    2
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")  # an old file is replaced by a whole one
    if _is_skops(path):
        _skops().dump(model, part, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    else:
        part.write_bytes(_archive(model))
    part.replace(path)


def load_model(path):
    """Read a model that :func:`save_model` saved.

    Parameters
    ----------
    path : path
        The file, ``.skops`` or ``.adareg``.

    Returns
    -------
    estimator
        The model, which goes on learning where it stood.

    See Also
    --------
    save_model : Write the file.

    Examples
    --------
    See :func:`save_model`.

    >>> from sklearn_adareg import load_model
    >>> load_model("nowhere.adareg")
    Traceback (most recent call last):
    FileNotFoundError: There is no file nowhere.adareg; check the name.
    """
    path = Path(path)
    skops_file = _is_skops(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the name.")
    if skops_file:
        return _from_skops(path)
    try:
        return _from_archive(path.read_bytes())
    except DAMAGED as error:
        raise ValueError(
            f"{path} cannot be read as a model ({_clause(error)}); it is damaged, of another kind, or from a newer version."
        ) from error


def check_name(path):
    """Refuse a name that no model can be saved under."""
    if _is_skops(Path(path)):
        _skops()


def _is_skops(path):
    if path.suffix not in (OWN, SKOPS):
        raise ValueError(
            f"{path} is no name of a model file; let it end in {SKOPS} (needs skops) or {OWN}."
        )
    return path.suffix == SKOPS


def _skops():
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            f"A {SKOPS} file needs skops, which is not installed; let the name end in {OWN}, or pip install "
            '"sklearn_adareg[files]".'
        ) from error
    return skops.io


def _from_skops(path):
    skops = _skops()
    try:
        types = skops.get_untrusted_types(file=path)
    except DAMAGED as error:
        raise ValueError(f"{path} cannot be read by skops ({_clause(error)}).") from error
    trusted = (f"{PACKAGE}.", "scipy.sparse.")  # sparse matrices are weights that were made sparse
    strange = [name for name in types if not name.startswith(trusted)]
    if strange:
        raise ValueError(
            f"{path} holds the type {strange[0]}, which is not trusted here; load it by skops.io.load if you trust it."
        )
    return skops.load(path, trusted=types)


def _clause(error):
    return str(error).split("\n")[0].rstrip(".") or type(error).__name__


# ---- the archive ---------------------------------------------------------------------------------------------------


def _archive(model):
    arrays = []
    tree = _plain(model, arrays)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", json.dumps({"format": FORMAT, "model": tree}))
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return out.getvalue()


def _plain(value, arrays):
    """A value as JSON has it; arrays are put into the list."""

    def kept(array):
        arrays.append(array)
        return len(arrays) - 1

    if value is None or isinstance(value, bool | int | str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic):
        return {"scalar": kept(np.asarray(value))}
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return {"objects": [_plain(item, arrays) for item in value.tolist()]}
        return {"array": kept(value)}
    if sparse.issparse(value):
        csr = sparse.csr_matrix(value)
        parts = (csr.data, csr.indices, csr.indptr, tuple(csr.shape))
        return {"csr": [_plain(part, arrays) for part in parts]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_plain(item, arrays) for item in value]}
    if type(value) is dict:
        return {
            "dict": [[_plain(k, arrays), _plain(v, arrays)] for k, v in value.items()],
        }
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if not (name.startswith(f"{PACKAGE}.") or name == PIPELINE):
        raise TypeError(
            f"An {OWN} file holds models of {PACKAGE} and Pipelines of them, and this one has a {type(value).__name__}; let the name "
            f"end in {SKOPS}, or use joblib."
        )
    return {name: _plain(value.__getstate__(), arrays)}


def _from_archive(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read("model.json"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")

        def array(number):
            with archive.open(f"{int(number)}.npy") as file:
                return np.lib.format.read_array(file, allow_pickle=False)

        return _value(content["model"], array)


def _value(plain, array):
    """The value that JSON stands for."""
    if not isinstance(plain, dict):
        return plain
    [(kind, content)] = plain.items()
    if kind == "float":
        return float(content)
    if kind in ("array", "scalar"):
        found = array(content)
        return found[()] if kind == "scalar" else found
    if kind == "dict":
        return {_value(key, array): _value(item, array) for key, item in content}
    if kind in ("list", "tuple", "objects", "csr"):
        items = [_value(item, array) for item in content]
        if kind == "csr":
            return sparse.csr_matrix(tuple(items[:3]), shape=items[3])
        if kind == "objects":
            return np.array(items, dtype=object)
        return items if kind == "list" else tuple(items)
    return _object(kind, _value(content, array))


def _object(name, state):
    module, _, cls = name.rpartition(".")
    if not (module.startswith(f"{PACKAGE}.") or name == PIPELINE):
        raise ValueError(f"it holds a {name}, which is not read from a file")
    found = getattr(import_module(module), cls)
    if not (isinstance(found, type) and found.__module__ == module):
        raise ValueError(f"{name} is no class")
    made = object.__new__(found)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made
