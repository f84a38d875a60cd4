"""Sphinx configuration: ``sphinx-build -W -b html doc doc/_build/html``."""

from importlib.metadata import version as installed_version

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


def setup(app):
    app.connect("autodoc-skip-member", skip_scikit_learns_own_methods)
