"""Model files without pickle: what is read goes on as what was written would have."""

import io
import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import POTENTIALS, STRUCTURES, UPDATES, estimator, rows, target

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, SpectralPotential, load_model, save_model
from sklearn_adareg.persistence import _model_files
from sklearn_adareg.streams import TableEncoder

X, SCORE = rows(1)


def there_and_back(model, tmp_path, suffix):
    if suffix == ".skops":
        pytest.importorskip("skops")
    save_model(model, tmp_path / f"m{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == [f"m{suffix}"]
    return load_model(tmp_path / f"m{suffix}")


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_model_goes_on(potential, structure, update, loss, tmp_path):
    y = target(loss, SCORE)
    model = estimator(potential=potential, structure=structure, update=update, loss=loss)
    model.fit(X[:45], y[:45])
    twin = there_and_back(model, tmp_path, ".adareg")
    assert twin.get_params() == model.get_params()
    for each in (model, twin):
        each.partial_fit(X[45:], y[45:])
    np.testing.assert_array_equal(twin.coef_, model.coef_)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    assert twin.progressive_loss_ == model.progressive_loss_


LABELS = np.array(["a", "b", "ü"])[np.digitize(SCORE, [-0.5, 2.0])]
MODELS = {
    "as it comes": lambda: AdaRegClassifier().fit(X, SCORE > 0),
    "three classes": lambda: AdaRegClassifier(class_weight={"a": 2.0}).fit(X, LABELS),
    "labels that are objects": lambda: AdaRegClassifier().fit(X, LABELS.astype(object)),
    "several targets": lambda: AdaRegRegressor().fit(X, X[:, :3]),
    "infinite": lambda: AdaRegRegressor(tol=None, p=np.float64(2), random_state=0).fit(X, SCORE),
    "sparse weights": lambda: AdaRegClassifier().fit(X, SCORE > 0).sparsify(),
    "names": lambda: AdaRegRegressor().fit(pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), SCORE),
    "not fitted": AdaRegClassifier,
}


@pytest.mark.parametrize("suffix", [".adareg", ".skops"])
@pytest.mark.parametrize("name", MODELS)
def test_all_kinds_of_models(name, suffix, tmp_path):
    model = MODELS[name]()
    twin = there_and_back(model, tmp_path, suffix)
    assert type(twin) is type(model)
    assert repr(twin) == repr(model)
    if name == "not fitted":
        return
    assert sparse.issparse(twin.coef_) == sparse.issparse(model.coef_)
    given = pd.DataFrame(X, columns=model.feature_names_in_) if name == "names" else X
    np.testing.assert_array_equal(twin.predict(given), model.predict(given))
    assert getattr(twin, "feature_names_in_", None) is None or list(twin.feature_names_in_) == list(
        model.feature_names_in_
    )


@pytest.mark.parametrize("suffix", [".adareg", ".skops"])
def test_a_pipeline_with_an_encoder(suffix, tmp_path):
    table = pd.DataFrame({"a": SCORE, "b": LABELS})
    model = make_pipeline(TableEncoder(n_hashed=64, categories={"b": ["a"]}), AdaRegRegressor())
    model.fit(table, SCORE)
    twin = there_and_back(model, tmp_path, suffix)
    np.testing.assert_array_equal(twin.predict(table), model.predict(table))
    assert twin[0].one_hot_ == {"b": ["a"]}


class Slow(SpectralPotential):
    def psi(self, eigenvalues):
        return eigenvalues**-0.1


@pytest.mark.parametrize(
    "model",
    [make_pipeline(StandardScaler(), AdaRegClassifier()), LogisticRegression(), AdaRegRegressor(Slow())],
    ids=["scaler", "foreign", "a potential of one's own"],
)
def test_other_classes_are_refused_and_the_old_file_stays(model, tmp_path):
    path = tmp_path / "m.adareg"
    save_model(AdaRegRegressor(), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="holds models of sklearn_adareg"):
        save_model(model, path)
    assert path.read_bytes() == before


def test_a_file_that_names_other_code_is_not_run(tmp_path):
    for name in (
        "os.system",
        "sklearn_adareg.model._state.np",
        "sklearn_adareg.model._registry.loss",
        "sklearn_adareg.no.One",
    ):
        with zipfile.ZipFile(tmp_path / "m.adareg", "w") as archive:
            archive.writestr("model.json", json.dumps({"format": 1, "model": {name: "echo"}}))
        with pytest.raises(ValueError, match="cannot be read as a model"):
            load_model(tmp_path / "m.adareg")


SUFFIXES = [".adareg", ".skops"]
REFUSED = r"cannot be read as a model \(.*\); it is damaged, of another kind, or from a newer version\.$"


def write(path, member, content, compression=zipfile.ZIP_DEFLATED):
    """A zip file of one member."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(member, content)
    return path


@pytest.fixture(scope="module", params=SUFFIXES)
def whole(request, tmp_path_factory):
    """The bytes of a model file, and a path with its suffix."""
    if request.param == ".skops":
        pytest.importorskip("skops")
    path = tmp_path_factory.mktemp("whole") / f"m{request.param}"
    save_model(AdaRegRegressor("adagrad", "diag").fit(X[:, :2], SCORE), path)
    return path.read_bytes(), path


def assert_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=REFUSED) as refusal:
        load_model(path)
    assert "\n" not in str(refusal.value)


def test_every_flipped_bit_is_found(whole):
    content, path = whole
    places = {*range(0, len(content), 37), *range(len(content) - 60, len(content))}
    for at in places:
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        assert_refused(path, bytes(changed))


def test_truncated_files_are_refused(whole):
    content, path = whole
    for length in [*range(0, len(content), 61), *range(len(content) - 60, len(content))]:
        assert_refused(path, content[:length])
    for other in (b"no zip", content + b"more", content * 2):
        assert_refused(path, other)


def test_a_file_without_a_checksum_is_read_with_the_same_care(whole):
    content, path = whole
    body = content[: -_model_files.SEALED]
    old = body[:-2] + bytes(2)  # as earlier versions wrote it
    path.write_bytes(old)
    assert load_model(path).t_ > 0
    refusals = []
    for at in range(0, len(old), 23):
        changed = bytearray(old)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        try:
            assert load_model(path).t_ > 0  # what was changed does not count: a date, say
        except ValueError as error:
            refusals.append(str(error))
    assert len(refusals) > 100
    assert all(re.search(f"{REFUSED}|expands to", refusal) for refusal in refusals)


CRAFTED = {
    "null": "null",
    "true": "true",
    "a number": "1",
    "a list": '{"list": []}',
    "two kinds": '{"list": [], "tuple": []}',
    "deep": '{"list": [' * 100_000 + "]}" * 100_000,
    "deep in JSON": "[" * 100_000 + "]" * 100_000,
    "an array that there is not": '{"sklearn_adareg.AdaRegRegressor": {"array": 0}}',
    "a program": '{"sklearn_adareg.__main__.main": {"dict": []}}',
    "a module that there is not": '{"sklearn_adareg.nowhere.One": {"dict": []}}',
    "a kernel": '{"sklearn_adareg._kernels.state._setting.Setting": {"dict": []}}',
    "a state": '{"sklearn_adareg.model._state.State": {"dict": []}}',
    "parameters that are none": '{"sklearn_adareg.AdaRegRegressor": {"dict": [["_state", true]]}}',
    "a long number": "1" * 5000,
}


@pytest.mark.parametrize("name", CRAFTED)
@pytest.mark.every_case
def test_crafted_archives_are_refused(name, tmp_path):
    content = f'{{"format": 1, "model": {CRAFTED[name]}}}'
    path = write(tmp_path / "m.adareg", "model.json", content)
    assert_refused(path, path.read_bytes())


@pytest.mark.parametrize("content", ["null", "true", "[]", '{"format": 1}', "[" * 100_000, "\xff"])
def test_other_json_is_refused(content, tmp_path):
    for suffix, member in ((".adareg", "model.json"), (".skops", "schema.json")):
        if suffix == ".skops":
            pytest.importorskip("skops")
        path = write(tmp_path / f"m{suffix}", member, content)
        assert_refused(path, path.read_bytes())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_small_file_does_not_expand_to_a_large_one(suffix, tmp_path):
    if suffix == ".skops":
        pytest.importorskip("skops")
    path = tmp_path / f"m{suffix}"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("0.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    with pytest.raises(ValueError, match=r"expands to 314572800, and .* max_bytes=314572800\.$"):
        load_model(path)
    with pytest.raises(ValueError, match=REFUSED):
        load_model(path, max_bytes=314572800)


def test_an_array_that_is_named_often_is_read_once(tmp_path):
    path = tmp_path / "m.adareg"
    many = ", ".join(['{"array": 0}'] * 1000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", f'{{"format": 1, "model": {{"list": [{many}]}}}}')
        with archive.open("0.npy", "w") as member:
            np.save(member, np.zeros(10))
    with pytest.raises(ValueError, match=r"it names the array 0 twice"):
        load_model(path)


def test_the_size_that_an_array_claims_has_to_be_that_of_its_numbers(tmp_path):
    path = tmp_path / "m.adareg"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", '{"format": 1, "model": {"array": 0}}')
        archive.writestr("0.npy", header.getvalue() + bytes(80))
    with pytest.raises(ValueError, match="the size of its array 0 is not that of its numbers"):
        load_model(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_model_of_zeros_is_saved_so_that_it_can_be_read(suffix, tmp_path, monkeypatch):
    if suffix == ".skops":
        pytest.importorskip("skops")
    monkeypatch.setattr(_model_files, "AT_LEAST", 1000)
    monkeypatch.setattr(_model_files, "OBJECTS", 1)
    path = tmp_path / f"m{suffix}"
    model = AdaRegRegressor("adagrad", "full", eta=1.0, scaling=None)
    model.partial_fit(np.eye(1, 200), [1.0])
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).coef_, model.coef_)
    assert path.stat().st_size > 200 * 200 * 8


def test_skops_files_of_others_are_refused(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(Slow(), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="is not trusted here"):
        load_model(tmp_path / "m.skops")


def test_names_say_the_kind(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"let it end in \.skops"):
        save_model(AdaRegRegressor(), tmp_path / "m.pickle")
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    monkeypatch.setitem(__import__("sys").modules, "skops", None)
    with pytest.raises(ImportError, match=r"let the name end in \.adareg"):
        save_model(AdaRegRegressor(), tmp_path / "m.skops")
