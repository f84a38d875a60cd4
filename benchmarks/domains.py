"""What a domain costs a full model: time of one pass with it over the time without, on the digits (d = 64).

    python benchmarks/domains.py [--repeats 7] [--potential ons]

Runs with and without the domain alternate, and each line is the ratio of the medians. ``binds`` is the share of the rows of
coef_ that end on the boundary of the domain. One thread: set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from sklearn_adareg import AdaRegClassifier

RADII = {
    "l2": (0.01, 0.1, 1.0),
    "box": (0.001, 0.01, 0.1),
    "l1": (0.01, 0.1, 1.0),
    "simplex": (0.1, 1.0, 10.0),
    "nonnegative": (1.0,),
}


def seconds(X, y, classes, **parameters):
    """Processor time of one pass, and the model."""
    model = AdaRegClassifier(structure="full", n_jobs=1, **parameters)
    start = time.process_time()
    model.partial_fit(X, y, classes=classes)
    return time.process_time() - start, model


def share_on_boundary(domain, radius, coef):
    size = {
        "l2": np.linalg.norm(coef, axis=1),
        "box": np.abs(coef).max(axis=1),
        "l1": np.abs(coef).sum(axis=1),
        "simplex": coef.sum(axis=1),
        "nonnegative": radius - coef.min(axis=1),
    }[domain]
    return np.mean(size > (1 - 1e-9) * radius)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--potential", default="ons")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    classes = np.unique(y)
    print(f"{'scaling':8} {'update':15} {'domain':12} {'radius':>7} {'without':>9} {'ratio':>6} binds")
    for scaling in ("online", None):
        for update in ("mirror_descent", "dual_averaging"):
            common = {"potential": arguments.potential, "scaling": scaling, "update": update}
            for domain, radii in RADII.items():
                for radius in radii:
                    pairs = []
                    for _ in range(arguments.repeats):
                        free, _ = seconds(X, y, classes, **common)
                        bound, model = seconds(X, y, classes, domain=domain, radius=radius, **common)
                        pairs.append((free, bound))
                    free, bound = np.median(pairs, axis=0)
                    binds = share_on_boundary(domain, radius, model.coef_)
                    print(
                        f"{scaling!s:8} {update:15} {domain:12} {radius:7g} {free * 1e3:7.1f}ms "
                        f"{bound / free:6.1f} {binds:5.0%}"
                    )


if __name__ == "__main__":
    main()
