"""Models in files without pickle: skops, or an archive of JSON and arrays.

The archive (suffix ``.adareg``) is a zip file. ``model.json`` holds ``{"format": 1, "model": value}``, ``N.npy`` the arrays. A value
is null, true, false, a number or a string as it is, or an object with one key that says what it stands for:

=================================  ==========================================================================
``{"list": [value, …]}``           a list; ``"tuple"`` a tuple
``{"dict": [[key, value], …]}``    a dict
``{"float": "nan"}``               a number that JSON has not: nan, inf, −inf
``{"array": N}``                   the array ``N.npy``; ``"scalar"`` the NumPy number in it; each is named once
``{"objects": [value, …]}``        an array of objects, of one dimension
``{"csr": [value, …]}``            a CSR matrix: data, indices, indptr, shape
``{"NAME": value}``                an object of a class of this package or a Pipeline, and what its ``__getstate__`` returns
=================================  ==========================================================================

Reading it runs no code but this package's. Both kinds of files end with a checksum of all that comes before, as the comment of the
zip file; earlier versions wrote none. The directory of a zip file says how large its content is. A file that would expand to more
than ``EXPANSION`` times its size and ``AT_LEAST`` is refused unless that is asked for, and such content is saved without compression.
"""

import io
import json
import math
import zipfile
import zlib
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..estimators._online import AdaReg
from ..model._recipe import DamagedState
from ._output_files import OutputFile

FORMAT = 1
OWN, SKOPS = ".adareg", ".skops"
PACKAGE = __name__.split(".")[0]
PIPELINE = "sklearn.pipeline.Pipeline"
PROGRAMS = ("__main__", "cli")  # modules that a file does not name
SEAL = b"sklearn_adareg crc32 "  # and eight digits
SEALED = len(SEAL) + 8
EXPANSION, AT_LEAST = 32, 2**28
OBJECTS = 16  # times the size of JSON: what Python makes of it


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
    pack = partial(_skops_archive if _is_skops(path) else _archive, model)
    content = pack(zipfile.ZIP_DEFLATED)
    if _expanded(content) > max(AT_LEAST, EXPANSION * len(content)):
        content = pack(zipfile.ZIP_STORED)
    with OutputFile(path) as file:
        file.write(_sealed(content))


def load_model(path, *, max_bytes=None):
    """Read a model that :func:`save_model` saved.

    Parameters
    ----------
    path : path
        The file, ``.skops`` or ``.adareg``.
    max_bytes : int, default=None
        The most that the content of the file may expand to. None is 32 times the size of the file, and at least 256 MiB; files that
        :func:`save_model` writes stay below.

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
    read = _from_archive
    if _is_skops(path):
        _skops()
        read = _from_skops
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the name.")
    content = path.read_bytes()
    try:
        expanded, most = _expanded(_unsealed(content)), max_bytes or max(AT_LEAST, EXPANSION * len(content))
        if expanded <= most:
            model = read(content)
            if isinstance(model, BaseEstimator | AdaReg):
                return model
            raise ValueError(f"it holds a {type(model).__name__}, which is no model")
    except (Warning, _Strange):
        raise
    except Exception as error:  # whatever goes wrong with it, the content of the file is the reason
        raise ValueError(
            f"{path} cannot be read as a model ({_clause(error)}); it is damaged, of another kind, or from a newer version."
        ) from error
    raise ValueError(
        f"{path}, of {len(content)} bytes, expands to {expanded}, and {most} are allowed; if you trust it, pass "
        f"max_bytes={expanded}."
    )


class _Strange(ValueError):
    """A skops file with a type that is not trusted."""


def check_name(path):
    """Refuse a name that no model can be saved under."""
    if _is_skops(Path(path)):
        _skops()


def _is_skops(path):
    if path.suffix not in (OWN, SKOPS):
        raise ValueError(f"{path} is no name of a model file; let it end in {SKOPS} (needs skops) or {OWN}.")
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


def _skops_archive(model, compression):
    return _skops().dumps(model, compression=compression, compresslevel=1)


def _from_skops(content):
    skops = _skops()
    types = skops.get_untrusted_types(data=content)
    # sparse matrices are weights that were made sparse
    strange = [name for name in types if not (_is_ours(name) or name.startswith("scipy.sparse."))]
    if strange:
        raise _Strange(
            f"The file holds the type {strange[0]}, which is not trusted here; load it by skops.io.load if you trust it."
        )
    return skops.loads(content, trusted=types)


def _clause(error):
    if isinstance(error, DamagedState):
        return error.what
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    return str(error).split("\n")[0].rstrip(".") or type(error).__name__


# ---- checksum and size -----------------------------------------------------------------------------------------------


def _sealed(content):
    """A zip file with the checksum of all that comes before it as its comment."""
    body = content[:-2] + SEALED.to_bytes(2, "little")  # the length of the comment
    return body + SEAL + b"%08x" % zlib.crc32(body)


def _unsealed(content):
    """The content of a file, which has to fit its checksum if it has one."""
    body, seal = content[:-SEALED], content[-SEALED:]
    if seal.startswith(SEAL):
        if seal != SEAL + b"%08x" % zlib.crc32(body):
            raise ValueError("its checksum does not fit its content")
    elif content[-22:-18] != b"PK\5\6" or content[-2:] != b"\0\0":  # the last record, without a comment
        raise ValueError("it does not end as a zip file does, or its checksum is none")
    return content


def _expanded(content):
    """What a zip file says that its content takes in memory. No more is read of it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(
            member.file_size * (OBJECTS if member.filename.endswith(".json") else 1) for member in archive.infolist()
        )


# ---- the archive ---------------------------------------------------------------------------------------------------


def _archive(model, compression):
    arrays = []
    tree = _plain(model, arrays)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression, compresslevel=1) as archive:
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
        return {"dict": [[_plain(k, arrays), _plain(v, arrays)] for k, v in value.items()]}
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if not _is_ours(name):
        raise TypeError(
            f"An {OWN} file holds models of {PACKAGE} and Pipelines of them, and this one has a {type(value).__name__}; let the name "
            f"end in {SKOPS}, or use joblib."
        )
    return {name: _plain(value.__getstate__(), arrays)}


def _is_ours(name):
    """Whether a file may hold objects of the class with this name."""
    parts = name.split(".")
    return name == PIPELINE or (parts[0] == PACKAGE and not set(parts).intersection(PROGRAMS))


def _from_archive(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read("model.json"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        return _value(content["model"], partial(_array, archive, set()))


HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def _array(archive, taken, number):
    """An array of an archive, whose header has to fit its size. Each is taken once: all of them take what the archive says."""
    if type(number) is not int or number in taken:
        raise ValueError(f"it names the array {number!r} twice, or not by its number")
    taken.add(number)
    member = archive.getinfo(f"{number}.npy")
    with archive.open(member) as file:
        shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"the size of its array {number} is not that of its numbers")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


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
    if not _is_ours(name):
        raise ValueError(f"it holds a {name}, which is not read from a file")
    try:
        found = getattr(import_module(module), cls)
    except ImportError as error:
        raise ValueError(f"there is no {name}") from error
    if not (isinstance(found, type) and _is_ours(f"{found.__module__}.{cls}")):
        raise ValueError(f"{name} is no class")
    made = object.__new__(found)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made
