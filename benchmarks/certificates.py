"""Risk certificates: how often they fail, and how close they are to the test error.

    python benchmarks/certificates.py DATA_DIR      # bounds beside test errors and beside Hoeffding's
    python benchmarks/certificates.py --validity    # made-up streams, whose expected losses are known: some minutes
    python benchmarks/certificates.py --widths      # beside the best fixed parameter, and the time of a certificate: a second

*width* is the bound less the progressive mean. *Hoeffding* is the width of the one-sided normal mixture for losses in [0, 1]
(Howard et al. 2021, section 3.2), which also holds at every round, with its parameter tuned in hindsight to the number of rows.
"""

import argparse
import time

import numpy as np
from data_sets.folder import Folder
from scipy.optimize import brentq
from scipy.stats import binom, norm
from sklearn.datasets import make_classification

from sklearn_adareg import AdaRegClassifier
from sklearn_adareg.theory._certificates import bernstein_bound, zero_one_bound

SETS = ("a9a", "w8a", "ijcnn1", "mushrooms", "covtype_binary_10k", "letter", "pendigits")
DELTA, LEAST = 0.05, 1e-3
STREAMS, ROWS, POPULATION = 500, 1000, 400


def normal_mixture(rows, rho, delta=DELTA):
    """The width of the one-sided normal mixture for a variance of at most 1/4 a row."""
    total = rows / 4 + rho

    def excess(s):
        mixture = np.log(2) + 0.5 * np.log(rho / total) + s**2 / (2 * total)
        return mixture + norm.logcdf(s / np.sqrt(total)) + np.log(delta)

    return brentq(excess, 0.0, 100 * np.sqrt(total)) / rows


def hoeffding(rows):
    """The least width over the mixture's parameter."""
    return min(normal_mixture(rows, rows / 4 * ratio) for ratio in np.geomspace(1e-3, 3, 60))


def network_log(n=100_000):
    """Like a log of network traffic: a few kinds of rows, nearly separable, 0.2 % of labels wrong."""
    rng = np.random.default_rng(0)
    kind = rng.choice(6, size=n, p=[0.55, 0.2, 0.1, 0.1, 0.04, 0.01])
    X = 3.0 * rng.normal(size=(6, 30))[kind] + rng.normal(size=(n, 30))
    wrong = rng.random(n) < 0.002
    return X, (kind >= 2) ^ wrong


def splits(folder):
    """Name, training rows in random order, test rows."""
    for name in SETS:
        if folder.has(name):
            split = folder.split(name)
            yield name, split.X, split.y, split.X_test, split.y_test
    X, y = network_log()
    yield "network log", X[:70_000], y[:70_000], X[70_000:], y[70_000:]


def on_data(folder):
    """A table of certificates after one pass."""
    print(
        f"{'data':20} {'rows':>6}  {'mean':>7} {'bound':>7} {'test':>7} {'width':>7} {'Hoeffding':>9} {'ratio':>5}"
        f"  {'mean loss':>9} {'bound':>7} {'test':>7}"
    )
    for name, X, y, X_test, y_test in splits(folder):
        model = AdaRegClassifier().partial_fit(X, y, classes=np.unique(y))
        found = model.risk_certificate(DELTA)
        p = model.predict_proba(X_test)[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
        test_loss = -np.log(np.clip(p, LEAST, 1 - LEAST)).mean()
        test_error = 1 - model.score(X_test, y_test)
        width, plain = found.error_rate - found.mean_error_rate, hoeffding(found.rounds)
        print(
            f"{name:20} {found.rounds:6d}  {found.mean_error_rate:7.4f} {found.error_rate:7.4f} {test_error:7.4f} "
            f"{width:7.4f} {plain:9.4f} {plain / width:5.2f}  {found.mean_loss:9.4f} {found.loss:7.4f} {test_loss:7.4f}",
            flush=True,
        )


def failures(seed, learner, kind, rows=ROWS):
    """Whether the bounds on error rate and loss fail at any round of a stream drawn from a finite population."""
    rng = np.random.default_rng(seed)
    X, y = make_classification(
        POPULATION, 5, n_informative=4, n_redundant=0, flip_y=kind[0], class_sep=kind[1], random_state=7
    )
    order = rng.integers(POPULATION, size=rows)
    signs, model = 2.0 * y - 1, learner()
    error, risk = np.empty(rows), np.empty(rows)
    clipped, wrong = np.empty(rows), np.empty(rows)
    for t, row in enumerate(order):
        margins = model.decision_function(X) if t else np.zeros(POPULATION)
        losses = np.clip(np.logaddexp(0, -signs * margins), -np.log1p(-LEAST), -np.log(LEAST))
        mistakes = (margins > 0) != (y > 0)
        error[t], risk[t] = mistakes.mean(), losses.mean()
        wrong[t], clipped[t] = mistakes[row], losses[row]
        model.partial_fit(X[[row]], y[[row]], classes=[0, 1])
    rounds = np.arange(1, rows + 1)
    before = np.concatenate([[0.0], np.cumsum(clipped)[:-1] / rounds[:-1]])
    spread = np.cumsum((clipped - before) ** 2)
    on_error = zero_one_bound(np.cumsum(wrong), rounds, DELTA)
    on_loss = bernstein_bound(np.cumsum(clipped), spread, rounds, -np.log(LEAST), DELTA)
    found = model.risk_certificate(DELTA)
    np.testing.assert_allclose(
        [found.error_rate, found.loss], [on_error[-1], min(on_loss[-1], -np.log(LEAST))], rtol=1e-6
    )
    return (on_error < np.cumsum(error) / rounds).any(), (on_loss < np.cumsum(risk) / rounds).any()


def validity(streams):
    """How often a bound fails at some round, over streams of a learner."""
    learners = {"defaults": AdaRegClassifier, "diag adagrad": lambda: AdaRegClassifier("adagrad", "diag", eta=0.5)}
    most = binom.ppf(0.99, streams, DELTA)
    print(
        f"streams of {ROWS} rows in which a bound fails at some row, of {streams}; at most {most:.0f} expected 99 times in 100"
    )
    for kind in ((0.3, 0.5), (0.02, 2.0)):
        for name, learner in learners.items():
            found = np.array([failures(seed, learner, kind) for seed in range(streams)])
            on_error, on_loss = found.sum(axis=0)
            print(f"  labels flipped {kind[0]:4.2f}  {name:14} error rate {on_error:3d}  loss {on_loss:3d}", flush=True)


def widths(rate=0.15):
    """The width of the bound on the error rate over that of the best fixed u, known in hindsight; the time of one certificate."""
    u = np.geomspace(1e-7, 30.0, 20_000)
    print(f"error rate {rate}: width / width of the best fixed u")
    for rows in 10 ** np.arange(2, 9):
        mistakes = rate * rows
        fixed = -np.expm1((np.log(DELTA) - u * mistakes) / rows) / -np.expm1(-u)
        ratio = (zero_one_bound(mistakes, rows, DELTA).item() - rate) / (fixed.min() - rate)
        print(f"  {rows:11,d} rows {ratio:6.2f}")
    X, y = make_classification(1000, random_state=0)
    model = AdaRegClassifier().partial_fit(X, y, classes=[0, 1])
    seconds = []
    for _ in range(100):
        begin = time.process_time()
        model.risk_certificate(DELTA)
        seconds.append(time.process_time() - begin)
    print(f"a certificate takes {1e3 * np.median(seconds):.2f} ms")


def main():
    """The parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DATA_DIR", nargs="?", help="folder of NAME.svm.gz files")
    parser.add_argument("--cache", metavar="FOLDER", help="keep the parsed files here, for faster starts")
    parser.add_argument("--validity", action="store_true", help="count failures on made-up streams")
    parser.add_argument("--widths", action="store_true", help="beside the best fixed parameter")
    parser.add_argument("--streams", type=int, default=STREAMS, help="how many")
    args = parser.parse_args()
    if args.folder:
        on_data(Folder(args.folder, args.cache))
    if args.validity:
        validity(args.streams)
    if args.widths:
        widths()


if __name__ == "__main__":
    main()
