"""Sphinx configuration. ``.ci/docs`` builds and checks the site; doc/README.md says where a page belongs."""

import importlib
import inspect
import os
import sys
import tempfile
import warnings
from pathlib import Path

from numpydoc.docscrape_sphinx import SphinxDocString
from sphinx.util.logging import getLogger
from sphinx_gallery.sorting import ExplicitOrder, FileNameSortKey

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import sklearn_adareg  # noqa: E402
from sklearn_adareg import AdaRegClassifier, AdaRegRegressor  # noqa: E402
from sklearn_adareg.model import _registry  # noqa: E402

project = "sklearn_adareg"
author = "The sklearn_adareg developers"
copyright = author
version = release = sklearn_adareg.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "numpydoc",
    "markdown",
    "results",
]
exclude_patterns = ["_build", "README.md"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # functions among the settings of the gallery

# Links into the pages of other projects need the network, so they are made only where that is asked for.
if os.environ.get("READTHEDOCS") or os.environ.get("ADAREG_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

# Formulas come from a file of this site; tex-svg.js is that of the npm package mathjax, version 3.2.2.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

autosummary_generate = True
autosummary_context = {"own_methods": lambda module, name: own_methods(module, name)}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
# Attributes are described in the docstring of the class; where one is a property, numpydoc would take the property's first sentence.
_process_param = SphinxDocString._process_param
SphinxDocString._process_param = lambda self, name, text, summary: _process_param(
    self, name, text, summary and not text
)
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": ExplicitOrder(
        [
            "../examples/start",
            "../examples/streams",
            "../examples/algorithms",
            "../examples/theory",
            "../examples/production",
            "*",
        ]
    ),
    "within_subsection_order": FileNameSortKey,
    "doc_module": ("sklearn_adareg",),
    "backreferences_dir": "api/backreferences",
    "reference_url": {"sklearn_adareg": None},
    # An example saves its figure where it is told to: the gallery takes the open figure, not the file.
    "reset_argv": lambda conf, script: [str(Path(tempfile.gettempdir()) / "figure.png")],
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "capture_repr": (),
    "thumbnail_size": (480, 300),
    "parallel": 2,
}
# Figures are drawn without a screen, and plt.show() need not say so.
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_adareg"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system says
html_css_files = ["adareg.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "install": [], "changelog": []}
html_theme_options = {
    "logo": {"text": "sklearn_adareg", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def own_methods(module, name):
    """The public methods of a class that this package defines; the others are in scikit-learn's documentation."""
    members = inspect.getmembers(getattr(importlib.import_module(module), name))
    return [
        member
        for member, value in members
        if not member.startswith("_")
        and callable(value)
        and not inspect.isclass(value)
        and not (member.startswith("set_") and member.endswith("_request"))
        and (getattr(inspect.unwrap(value), "__module__", None) or "").startswith("sklearn_adareg")
    ]


def check_guide_is_complete(app):
    """Warn, and so fail under ``-W``, when a piece or a parameter has no place in the guide."""
    guide = "".join(path.read_text(encoding="utf-8") for path in (HERE / "guide").glob("*.rst"))
    tables = (
        _registry.POTENTIALS,
        _registry.STRUCTURES,
        _registry.DOMAINS,
        _registry.CLASSIFICATION_LOSSES,
        _registry.REGRESSION_LOSSES,
    )
    pieces = {f'``"{name}"``' for table in tables for name in table if name}
    parameters = {
        f"``{name}" for estimator in (AdaRegClassifier(), AdaRegRegressor()) for name in estimator.get_params()
    }
    for missing in sorted(text for text in pieces | parameters if text not in guide):
        getLogger(__name__).warning("no page in doc/guide mentions %s", missing)


def check_reference_is_complete(app):
    """Warn when a public name has no line in the reference."""
    page = (HERE / "api" / "index.rst").read_text(encoding="utf-8").split()
    names = set()
    for name in sklearn_adareg.__all__:
        thing = getattr(sklearn_adareg, name)
        names |= {f"{name}.{n}" for n in thing.__all__} if inspect.ismodule(thing) else {name}
    for missing in sorted(names - set(page)):
        getLogger(__name__).warning("doc/api/index.rst does not list %s", missing)


def setup(app):
    app.connect("builder-inited", check_reference_is_complete)
    app.connect("builder-inited", check_guide_is_complete)
