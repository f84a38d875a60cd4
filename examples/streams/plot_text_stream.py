"""
A stream of text, one pass, and the loss of every chunk before it is learnt
===========================================================================

Paragraphs from the docstrings of NumPy, SciPy and scikit-learn arrive in a shuffled order, the
names of the libraries removed, and the model says which library each one is from. The words are
hashed, so there is no vocabulary to build: the stream is read once, and nothing of it is kept.

Every chunk is predicted before it is learnt from, so the loss so far is an honest score at every
moment, without a test set: ``progressive_loss_`` is that score row by row, and costs nothing.

A stream passes once, which is no place to tune. ``AdaRegClassifier`` is taken as it comes;
``SGDClassifier``, averaged, is shown for three values of its ``alpha``, which also sets its step
size, the first being the default. How far apart those three end is what a wrong guess costs.

Run it as ``python examples/streams/plot_text_stream.py [figure.png]``.
"""

import importlib
import inspect
import pkgutil
import re
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from sklearn_adareg import AdaRegClassifier

LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy", "sklearn": "scikit-learn"}
CLASSES = list(LIBRARIES)
NAMES = re.compile(r"numpy|scipy|sklearn|scikit|\bnp\b", re.IGNORECASE)
CHUNK = 500
SHORTEST = 8  # words
SMOOTH = 5  # chunks
ALPHAS = {"1e-4": "#993404", "1e-5": "#d95f0e", "1e-6": "#fe9929"}
COLOURS = {
    "class frequencies": "0.55",
    **{f"SGD, alpha={alpha}": colour for alpha, colour in ALPHAS.items()},
    "AdaRegClassifier": "#0072b2",
}


class ClassFrequencies:
    """Predicts how often each class came so far."""

    def partial_fit(self, X, y, classes):
        new = np.array([np.sum(y == label) for label in classes])
        self.counts_ = getattr(self, "counts_", np.ones(len(classes))) + new
        return self

    def predict_proba(self, X):
        return np.tile(self.counts_ / self.counts_.sum(), (X.shape[0], 1))


def docstrings(library):
    """The docstrings of what a library's public modules define, methods included."""
    package = importlib.import_module(library)
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_") or module.name in ("conftest", "tests"):
            continue
        try:
            members = vars(importlib.import_module(f"{library}.{module.name}"))
        except ImportError:  # a module that needs a package which is not installed
            continue
        for name, member in members.items():
            home = getattr(member, "__module__", None) or library
            if name.startswith("_") or not callable(member) or home.split(".")[0] != library:
                continue
            methods = vars(member).values() if inspect.isclass(member) else ()
            for thing in (member, *methods):
                if isinstance(text := getattr(thing, "__doc__", None), str):
                    yield inspect.cleandoc(text)


def shuffled_paragraphs():
    """Texts and the library of each; what two libraries have in common is left out."""
    libraries_of = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated modules say so when imported
        for library in LIBRARIES:
            for text in docstrings(library):
                for paragraph in re.split(r"\n\s*\n", text):
                    words = [word for word in paragraph.split() if not NAMES.search(word)]
                    if len(words) >= SHORTEST:
                        libraries_of.setdefault(" ".join(words), set()).add(library)
    # In the order found: a few docstrings hold fresh random numbers, so sorting would not repeat.
    texts = [text for text, libraries in libraries_of.items() if len(libraries) == 1]
    labels = [next(iter(libraries_of[text])) for text in texts]
    order = np.random.default_rng(0).permutation(len(texts))
    return np.array(texts, dtype=object)[order], np.array(labels)[order]


def run_stream(texts, labels, models):
    """Log-loss and accuracy of each model on each chunk before it learns from it."""
    hashing = HashingVectorizer(n_features=2**17, alternate_sign=False)
    uniform = np.full(len(CLASSES), 1 / len(CLASSES))
    scores = {name: [] for name in models}
    sizes = []
    for start in range(0, len(texts), CHUNK):
        X, y = hashing.transform(texts[start : start + CHUNK]), labels[start : start + CHUNK]
        for name, model in models.items():
            chances = model.predict_proba(X) if start else np.tile(uniform, (len(y), 1))
            accuracy = np.mean(np.array(CLASSES)[chances.argmax(axis=1)] == y)
            scores[name].append((log_loss(y, chances, labels=CLASSES), accuracy))
            model.partial_fit(X, y, classes=CLASSES)
        sizes.append(len(y))
    return np.array(sizes), {name: np.array(rows) for name, rows in scores.items()}


def print_table(sizes, scores, labels, model):
    """Means over the whole stream and over its last quarter."""
    counts = ", ".join(f"{np.sum(labels == key)} {name}" for key, name in LIBRARIES.items())
    print(f"{len(labels)} paragraphs ({counts}), one pass in chunks of {CHUNK}\n")
    print(f"{'':20}{'whole stream':>22}{'last quarter':>22}")
    print(f"{'':20}" + 2 * f"{'log-loss':>11}{'accuracy':>11}")
    late = slice(3 * len(sizes) // 4, None)
    for name, rows in scores.items():
        whole = np.average(rows, axis=0, weights=sizes)
        end = np.average(rows[late], axis=0, weights=sizes[late])
        print(f"{name:20}" + "".join(f"{value:11.3f}" for value in (*whole, *end)))
    print(f"\nAdaRegClassifier, row by row: progressive_loss_ = {model.progressive_loss_:.3f}")
    print(f"potential {model.potential_}, structure {model.structure_}, {model.t_} rounds")


def draw(sizes, scores, path):
    """Chunk by chunk in the background, the mean of the last few chunks in front."""
    rounds = np.cumsum(sizes)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axis, column, title in zip(axes, (0, 1), ("log-loss", "accuracy"), strict=True):
        for name, rows in scores.items():
            values, colour = rows[:, column], COLOURS[name]
            means = [values[max(0, i + 1 - SMOOTH) : i + 1].mean() for i in range(len(values))]
            axis.plot(rounds, values, color=colour, lw=0.7, alpha=0.35)
            axis.plot(rounds, means, color=colour, lw=2, label=name)
        axis.set_title(
            f"{title} before learning: each chunk, and the mean of the last {SMOOTH}",
            fontsize=11,
            loc="left",
        )
        axis.set_xlabel("paragraphs seen")
        axis.set_xlim(0, rounds[-1])
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
    )
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylim(top=1)
    figure.suptitle("NumPy, SciPy or scikit-learn? A stream of docstrings, read once", fontsize=12)
    figure.savefig(path, dpi=150)
    print(f"\nfigure: {path}")


def main(path="text_stream.png"):
    texts, labels = shuffled_paragraphs()
    models = {
        "class frequencies": ClassFrequencies(),
        **{
            f"SGD, alpha={alpha}": SGDClassifier(
                loss="log_loss", alpha=float(alpha), average=True, random_state=0
            )
            for alpha in ALPHAS
        },
        "AdaRegClassifier": AdaRegClassifier(),
    }
    sizes, scores = run_stream(texts, labels, models)
    print_table(sizes, scores, labels, models["AdaRegClassifier"])
    draw(sizes, scores, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
