"""Kernels cimport downwards: rounds, structures, the pieces that structures call, loops.

The contract of the Python modules is in setup.cfg; import-linter does not read Cython.
"""

import re
from pathlib import Path

import pytest

import sklearn_adareg

KERNELS = Path(sklearn_adareg.__file__).parent / "_kernels"
# Highest first. A module may import from its own line and from those below.
LAYERS = (
    "_rounds",
    "_stack _committee",
    "_committee_candidates _stack_regression",
    "_methods _combined_penalty _committee_penalty",
    "_paired",
    "_sketch_newton",
    "_newton _diag _iso _spectral _full_ons _block_ons _block_spectral _sketch_ons _sketch_spectral _kronecker",
    "_block _sketch _measured",
    "_families",
    "_full _coordinatewise _block_point",
    "_coordinates",
    "_structures",
    "_basis _partition _fading _directions",
    "_members _free_step",
    "_objective _inverse _columns _cells _regression _lasso _column_descent",
    "_units _l2_ball _simplex",
    "_domains _sum_constrained",
    "_bound_constrained _free_set",
    "_metric _secular _forgetting _potentials _losses _rows _setting _undo _records _small_arrays _svmlight",
    "_tracks",
    "_block_loops _jacobi_loops _cyclic_loops _matrix_loops _step_loops _eigen_loops _factor_loops _fused_loops _paired_loops"
    " _power_loops _free_loops _loops _lapack",
)
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names.split()}
# "from ._rows cimport Row", "from sklearn_adareg._kernels._quadratic cimport ActiveSet", "from ._rows import VECTOR"
IMPORT = re.compile(r"^\s*from\s+(?:\.|sklearn_adareg\._kernels\.)(\w+)\s+c?import\b", re.MULTILINE)
LOOSE = re.compile(r"^\s*(?:from\s+\.\s+c?import|c?import\s+sklearn_adareg)\b.*", re.MULTILINE)
FILES = sorted(path for kind in ("*.pyx", "*.pxd") for path in KERNELS.glob(kind))

# an installed wheel has no sources
pytestmark = pytest.mark.skipif(not FILES, reason="only where the sources are")


def imports(text):
    """The kernels that a source names."""
    return IMPORT.findall(text)


def test_the_pattern_finds_every_form_of_import():
    text = "from ._rows cimport Row\nfrom sklearn_adareg._kernels._full cimport Full\n    from ._loops import x\n"
    assert imports(text) == ["_rows", "_full", "_loops"]
    assert LOOSE.search("from . cimport _rows")


def test_every_kernel_has_its_layer():
    assert {path.stem for path in FILES} == set(DEPTH)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kernels_import_downwards(path):
    text = path.read_text(encoding="utf-8")
    upwards = [name for name in imports(text) if DEPTH[name] < DEPTH[path.stem]]
    assert not upwards, f"{path.name} imports from above: {upwards}"
    assert not LOOSE.findall(text), "name the module: from ._rows cimport Row"
