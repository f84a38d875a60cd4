"""
A stream of text, read once
===========================

Paragraphs from the docstrings of NumPy, SciPy and scikit-learn arrive in a shuffled order, the names of the libraries taken out. A
model says which library each one is from. The words are hashed, so there is no vocabulary to build, and no text is kept.

Every chunk is predicted before it is learnt from, so its loss is a validation loss. A stream passes once, which leaves no time to
tune: ``AdaRegClassifier`` is taken as it comes. ``SGDClassifier``, averaged, is shown for three values of its ``alpha``, which also
sets its step size; how far apart they end is what a wrong guess costs.
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

LIBRARIES = ["numpy", "scipy", "sklearn"]
NAMES = re.compile(r"numpy|scipy|sklearn|scikit|\bnp\b", re.IGNORECASE)
CHUNK = 500


def paragraphs(library):
    """The paragraphs of the docstrings of what a library's public modules define."""
    for module in pkgutil.iter_modules(importlib.import_module(library).__path__):
        if module.name.startswith("_") or module.name in ("conftest", "tests"):
            continue
        try:
            members = vars(importlib.import_module(f"{library}.{module.name}")).values()
        except ImportError:  # a module that needs a package which is not installed
            continue
        for member in members:
            if callable(member) and getattr(member, "__module__", "").startswith(library):
                for paragraph in re.split(r"\n\s*\n", inspect.getdoc(member) or ""):
                    yield " ".join(w for w in paragraph.split() if not NAMES.search(w))


def stream():
    """Texts of eight words or more, each once, and the library of each, in a random order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated modules say so when imported
        found = {text: k for k in range(3) for text in paragraphs(LIBRARIES[k]) if text.count(" ") > 6}
    order = np.random.default_rng(0).permutation(len(found))
    return np.array(list(found), dtype=object)[order], np.array(list(found.values()))[order]


def sgd(alpha):
    return SGDClassifier(loss="log_loss", alpha=alpha, average=True, random_state=0)


# %%
# The loss of each chunk before it is learnt from; the line is the mean of the last five chunks.
texts, labels = stream()
models = {f"SGD, alpha={alpha:g}": sgd(alpha) for alpha in (1e-4, 1e-5, 1e-6)}
models = {"AdaRegClassifier": AdaRegClassifier(), **models}
losses = {name: [] for name in models}
hashing = HashingVectorizer(n_features=2**17, alternate_sign=False)
for start in range(0, len(texts), CHUNK):
    X, y = hashing.transform(texts[start : start + CHUNK]), labels[start : start + CHUNK]
    for name, model in models.items():
        if start:
            losses[name].append(log_loss(y, model.predict_proba(X), labels=[0, 1, 2]))
        model.partial_fit(X, y, classes=[0, 1, 2])

figure, axis = plt.subplots(figsize=(8, 4.8), layout="constrained")
print(f"{len(texts)} paragraphs{'':10}{'first half':>12}{'second half':>13}")
for (name, values), colour in zip(losses.items(), ("#0072b2", "#993404", "#d95f0e", "#fe9929"), strict=True):
    half = len(values) // 2
    print(f"{name:26}{np.mean(values[:half]):12.3f}{np.mean(values[half:]):13.3f}")
    means = [np.mean(values[max(0, i - 4) : i + 1]) for i in range(len(values))]
    axis.plot(CHUNK * np.arange(2, len(values) + 2), means, color=colour, lw=2.5, label=name)
axis.set(xlabel="paragraphs seen", ylabel="log-loss before learning", ylim=(0, None))
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "text_stream.png", dpi=150)
