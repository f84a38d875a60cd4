"""Every public symbol is documented as numpydoc asks, and its examples run."""

import doctest
import inspect
import re

import pytest

import sklearn_adareg

# As in scikit-learn, but for the summary line, which may be a noun.
IGNORED = {
    "ES01": "a summary line may say it all",
    "RT02": "returned values may have a name",
    "RT03": "the type of what is returned may say it all",
    "SA01": "See Also is for where there is something to see",
    "SS05": "a plural noun is taken for a verb in the third person",
}
METHODS_NEED_NO = {"EX01": "the class has the example"}
# What scikit-learn adds has scikit-learn's docstrings.
OURS = sklearn_adareg.__name__


def is_ours(thing):
    return (getattr(thing, "__module__", None) or "").split(".")[0] == OURS


def public_symbols():
    """(name, object, whether a member of a class) of all that a user may see."""
    for name in sklearn_adareg.__all__:
        thing = getattr(sklearn_adareg, name)
        if inspect.ismodule(thing):
            for inner in thing.__all__:
                yield from symbol_and_members(f"{OURS}.{name}.{inner}", getattr(thing, inner))
        else:
            yield from symbol_and_members(f"{OURS}.{name}", thing)


def symbol_and_members(name, thing):
    yield name, thing, False
    if not inspect.isclass(thing):
        return
    for member, value in inspect.getmembers(thing):
        if member.startswith("_") or isinstance(value, property) or not callable(value):
            continue
        if is_ours(inspect.unwrap(value)):
            yield f"{name}.{member}", value, True


SYMBOLS = list(public_symbols())
NAMES = [name for name, *_ in SYMBOLS]


def test_the_list_has_what_users_call():
    for cls in ("AdaRegClassifier", "AdaRegRegressor"):
        for method in ("", ".fit", ".partial_fit", ".predict", ".sparsify", ".densify"):
            assert f"{OURS}.{cls}{method}" in NAMES
    assert f"{OURS}.AdaRegClassifier.predict_proba" in NAMES
    assert f"{OURS}.SpectralPotential.psi" in NAMES
    assert sum(name.startswith(f"{OURS}.regret.") for name in NAMES) > 1


@pytest.mark.parametrize(("name", "thing", "is_member"), SYMBOLS, ids=NAMES)
def test_docstring_passes_numpydoc_validation(name, thing, is_member):
    numpydoc_validate = pytest.importorskip("numpydoc.validate")
    errors = numpydoc_validate.validate(name)["errors"]
    ignored = IGNORED | (METHODS_NEED_NO if is_member else {})
    assert [f"{code}: {text}" for code, text in errors if code not in ignored] == []


@pytest.mark.parametrize(("name", "thing", "is_member"), SYMBOLS, ids=NAMES)
def test_example_runs(name, thing, is_member):
    text = inspect.getdoc(thing) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    if not is_member:
        assert test.examples, f"{name} has no example"
    failures = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=failures.append)
    assert failures == [], "".join(failures)


@pytest.mark.parametrize("cls", ["AdaRegClassifier", "AdaRegRegressor"])
def test_every_parameter_and_fitted_attribute_is_documented(cls):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    thing = getattr(sklearn_adareg, cls)
    sections = docscrape.NumpyDocString(inspect.getdoc(thing))
    parameters = [parameter.name for parameter in sections["Parameters"]]
    assert parameters == list(inspect.signature(thing).parameters)
    documented = {name for entry in sections["Attributes"] for name in entry.name.split(", ")}
    properties = {name for name, _ in inspect.getmembers(thing, lambda v: isinstance(v, property))}
    fitted = {name for name in properties if re.fullmatch(r"[a-z]\w*_", name)}
    fitted |= {"n_iter_", "loss_curve_", "validation_scores_"}
    assert documented == fitted | {"n_features_in_", "feature_names_in_"}
    for parameter, value in inspect.signature(thing).parameters.items():
        [entry] = [p for p in sections["Parameters"] if p.name == parameter]
        default = f'"{value.default}"' if isinstance(value.default, str) else f"{value.default}"
        assert f"default={default}" in entry.type.replace("'", '"').replace("1e-3", "0.001")
