"""
Learn from a file in chunks, be killed, and go on
=================================================

Left: the memory that ``fit_stream`` uses at most, against the size of the file, beside loading the
file and fitting. Right: the progressive loss of a run that is stopped twice and goes on from its
checkpoint; its model equals that of an uninterrupted run, to the bit.
"""

import sys
import tracemalloc
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.streams import SvmlightStream, fit_stream

ROWS, STOPS = (2_500, 5_000, 10_000, 20_000), (5_000, 12_000, np.inf)
stream = partial(SvmlightStream, n_features=30, zero_based=True, chunk_bytes=2**16)
OPTIONS = {"classes": [0, 1], "progress": False}


def write(path, rows):
    """Counts of thirty words, a third of them 0, and a label."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.1, (rows, 30))
    dump_svmlight_file(counts, rng.logistic(size=rows) < counts @ rng.normal(size=30), str(path))


def peak(work):
    """Megabytes in use at most while ``work`` runs."""
    tracemalloc.start()
    work()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used / 1e6


def stopped_run(path, checkpoint):
    """The losses of each part of a run that is stopped at ``STOPS``, and its model."""
    parts = []
    for stop in STOPS:
        model, losses = AdaRegClassifier(), []

        def report(now, losses=losses, stop=stop):
            losses.append((now.rows, now.loss))
            if now.rows >= stop:
                raise KeyboardInterrupt

        options = {**OPTIONS, "checkpoint": checkpoint, "every": 1000, "progress": report}
        with suppress(KeyboardInterrupt):
            fit_stream(model, stream(path), **options)
        parts.append(np.array(losses))
    return parts, model


# %%
# Files of four sizes, learnt in chunks and as a whole; then the run that is stopped twice.
sizes = []
with TemporaryDirectory() as folder:
    file = Path(folder) / "rows.svm"
    print("MB of the file, of fit_stream, of loading and fitting\n")
    for rows in (ROWS[0], *ROWS):  # the first is there to import what is needed
        write(file, rows)
        chunked = peak(lambda: fit_stream(AdaRegClassifier(), stream(file), **OPTIONS))
        whole = peak(lambda: AdaRegClassifier(max_iter=1).fit(*load_svmlight_file(str(file))))
        sizes.append((file.stat().st_size / 1e6, chunked, whole))
        print("".join(f"{value:9.3f}" for value in sizes[-1]))
    parts, model = stopped_run(file, Path(folder) / "checkpoint")
    unstopped = fit_stream(AdaRegClassifier(), stream(file), **OPTIONS)
print(f"\nstopped twice, the same model: {(unstopped.coef_ == model.coef_).all()}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
megabytes, chunked, whole = np.array(sizes[1:]).T
left.plot(megabytes, whole, "o-", color="0.55", label="load the file, then fit")
left.plot(megabytes, chunked, "o-", color="#0072b2", label="fit_stream")
left.set(xlabel="size of the file, MB", ylabel="most memory in use, MB", ylim=0, xlim=0)
for part, colour in zip(parts, ("#d95f0e", "#009e73", "#0072b2"), strict=True):
    right.plot(*part.T, color=colour, lw=2.5, label=f"goes on at row {part[0, 0]:,.0f}")
right.set(xlabel="rows learnt", ylabel="mean progressive loss so far")
for axis in (left, right):
    axis.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "out_of_core.png", dpi=150)
