"""Sphinx configuration: ``sphinx-build -W -b html doc doc/_build/html``."""

from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.util.logging import getLogger

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor, _registry

project = "sklearn_adareg"
author = "The sklearn_adareg developers"
copyright = author
version = release = installed_version("sklearn_adareg")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
exclude_patterns = ["_build"]

autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "alabaster"
html_static_path = ["_static"]
html_theme_options = {
    "description": "Online linear models that adapt their own geometry",
    "fixed_sidebar": True,
    "page_width": "1100px",
}


def skip_scikit_learns_own_methods(app, what, name, member, skip, options):
    """Leave what scikit-learn's base classes bring to scikit-learn's documentation."""
    foreign = (getattr(member, "__module__", None) or "").startswith("sklearn.")
    routing = name.startswith("set_") and name.endswith("_request")
    return True if foreign or routing else None


def check_guide_is_complete(app):
    """Warn, and so fail under ``-W``, when a piece or a parameter has no place in the guide."""
    guide = (Path(app.srcdir) / "guide.rst").read_text(encoding="utf-8")
    tables = (
        _registry.POTENTIALS,
        _registry.STRUCTURES,
        _registry.DOMAINS,
        _registry.CLASSIFICATION_LOSSES,
        _registry.REGRESSION_LOSSES,
    )
    pieces = {f'``"{name}"``' for table in tables for name in table if name}
    parameters = {
        f"``{name}"
        for estimator in (AdaRegClassifier(), AdaRegRegressor())
        for name in estimator.get_params()
    }
    for missing in sorted(text for text in pieces | parameters if text not in guide):
        getLogger(__name__).warning("guide.rst does not mention %s", missing)


def setup(app):
    app.connect("builder-inited", check_guide_is_complete)
    app.connect("autodoc-skip-member", skip_scikit_learns_own_methods)
