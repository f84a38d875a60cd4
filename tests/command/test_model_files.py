"""Model files without pickle: what is read goes on as what was written would have."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from streams import POTENTIALS, STRUCTURES, UPDATES, estimator, rows, target

from sklearn_adareg import (
    AdaRegClassifier,
    AdaRegRegressor,
    SpectralPotential,
    load_model,
    save_model,
)
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
    "names": lambda: AdaRegRegressor().fit(
        pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), SCORE
    ),
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
    [
        make_pipeline(StandardScaler(), AdaRegClassifier()),
        LogisticRegression(),
        AdaRegRegressor(Slow()),
    ],
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
    for name in ("os.system", "sklearn_adareg._base.np", "sklearn_adareg._registry.loss"):
        with zipfile.ZipFile(tmp_path / "m.adareg", "w") as archive:
            archive.writestr("model.json", json.dumps({"format": 1, "model": {name: "echo"}}))
        with pytest.raises(ValueError, match="cannot be read as a model"):
            load_model(tmp_path / "m.adareg")


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "m.adareg"
    save_model(AdaRegRegressor().fit(X, SCORE), path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"no zip"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot be read as a model"):
            load_model(path)


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
