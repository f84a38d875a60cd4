"""
One pass over raw data, without a scaler and without a learning rate
====================================================================

Rows arrive once, in the units in which someone measured them: square millimetres beside ratios,
blood pressure beside age. ``AdaRegClassifier()`` and ``AdaRegRegressor()`` take them as they come,
with default parameters. How good is the model after thirty rows, after three hundred, at the end?

Losses on different data cannot be compared, so the figure has the *share* of the way from a tuned
batch model (0) to a constant prediction (1), on test rows. The batch model has all training rows
at once, standardised, and its penalty is the best of seven for these very test rows: a floor that
flatters it. Averaged stochastic gradient descent is shown on the raw rows, and on rows standardised
beforehand, which takes a pass of its own. Vowpal Wabbit, which scales as it goes, and river,
behind its running scaler, take part where they are installed.

Run it as ``python benchmarks/one_pass.py [figure.png]``.
"""

import sys
import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sklearn_adareg import AdaRegClassifier, AdaRegRegressor

DATA = {
    "breast cancer, two classes": load_breast_cancer(return_X_y=True),
    "digits, ten classes": load_digits(return_X_y=True),
    "diabetes, regression": load_diabetes(return_X_y=True, scaled=False),
}
STRENGTHS = np.logspace(-3, 3, 7)
N_SPLITS = 5
STOPS = 12  # where models are scored on the way
STYLES = {
    "SGD, raw rows": {"color": "0.6"},
    "SGD, rows scaled beforehand": {"color": "#e69f00"},
    "river, its running scaler": {"color": "#56b4e9", "ls": (0, (4, 1.5))},
    "Vowpal Wabbit, raw rows": {"color": "#0072b2"},
    "AdaReg, raw rows": {"color": "#d1495b", "lw": 3, "zorder": 3},
}


class VowpalWabbit:
    """Vowpal Wabbit's defaults as an estimator."""

    def __init__(self, classes):
        from vowpalwabbit import Workspace

        self.classes = classes
        several = f"--oaa {len(classes)} --probabilities" if len(classes) > 2 else "--link logistic"
        self.model = Workspace("--quiet " + f"--loss_function logistic {several}" * (len(classes) > 0))

    def partial_fit(self, X, y):
        labels = y if not len(self.classes) else 1 + np.searchsorted(self.classes, y)
        labels = 2 * labels - 3 if len(self.classes) == 2 else labels
        for row, label in zip(X, labels, strict=True):
            self.model.learn(f"{label} {self._line(row)}")

    def predict(self, X):
        predicted = np.array([self.model.predict(self._line(row)) for row in X])
        if len(self.classes) == 2:
            return np.column_stack([1 - predicted, predicted])
        return predicted / predicted.sum(axis=1, keepdims=True) if predicted.ndim == 2 else predicted

    @staticmethod
    def _line(row):
        return "| " + " ".join(f"{i}:{value:.9g}" for i, value in enumerate(row) if value)


class River:
    """River's running scaler and linear model as an estimator."""

    def __init__(self, classes):
        from river import linear_model, optim, preprocessing

        if not len(classes):
            model = linear_model.LinearRegression(intercept_lr=0.1)
        elif len(classes) == 2:
            model = linear_model.LogisticRegression(optim.AdaGrad())
        else:
            model = linear_model.SoftmaxRegression(optim.AdaGrad())
        self.classes, self.model = classes.tolist(), preprocessing.StandardScaler() | model

    def partial_fit(self, X, y):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)

    def predict(self, X):
        rows = [dict(enumerate(row)) for row in X.tolist()]
        if not self.classes:
            return np.array([self.model.predict_one(row) for row in rows])
        chances = [self.model.predict_proba_one(row) for row in rows]
        return np.array([[odds.get(label, 0.0) for label in self.classes] for odds in chances])


class Estimator:
    """What is an estimator already, with probabilities as predictions of a classifier."""

    def __init__(self, model, classes):
        self.model, self.first = model, {"classes": classes} if len(classes) else {}
        self.predict = lambda X: (model.predict_proba if len(classes) else model.predict)(X)

    def partial_fit(self, X, y):
        self.model.partial_fit(X, y, **self.first)


class Split:
    """Training rows in the order of their arrival, test rows, and what 0 and 1 stand for."""

    def __init__(self, X, y, seed):
        self.classes = np.unique(y) if len(np.unique(y)) <= 10 else np.array([])
        kinds = y if len(self.classes) else None
        self.X, self.X_test, self.y, self.y_test = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=kinds
        )
        scaler = StandardScaler().fit(self.X)
        self.scaled, self.scaled_test = scaler.transform(self.X), scaler.transform(self.X_test)
        shares = [np.mean(self.y == label) for label in self.classes]
        constant = shares if shares else self.y.mean()
        self.constant = self.loss(np.array([constant] * len(self.y_test)))
        self.batch = min(self.loss(self.batch_predictions(strength)) for strength in STRENGTHS)

    def batch_predictions(self, strength):
        """Those of a converged batch model."""
        if len(self.classes):
            model = LogisticRegression(C=strength, max_iter=2000).fit(self.scaled, self.y)
            return model.predict_proba(self.scaled_test)
        return Ridge(alpha=1 / strength).fit(self.scaled, self.y).predict(self.scaled_test)

    def loss(self, predicted):
        """Log-loss or mean squared error on the test rows."""
        if not np.all(np.isfinite(predicted)):
            return np.inf
        if len(self.classes):
            return log_loss(self.y_test, predicted, labels=self.classes)
        return np.mean((self.y_test - predicted) ** 2)

    def learners(self):
        """Name → learner, and the training and test rows that it gets."""
        regression = not len(self.classes)
        ours = AdaRegRegressor() if regression else AdaRegClassifier()
        raw, scaled = (self.X, self.X_test), (self.scaled, self.scaled_test)

        def sgd():
            if regression:
                return SGDRegressor(average=True, random_state=0)
            return SGDClassifier(loss="log_loss", average=True, random_state=0)

        yield "SGD, raw rows", Estimator(sgd(), self.classes), raw
        yield "SGD, rows scaled beforehand", Estimator(sgd(), self.classes), scaled
        if find_spec("river"):
            yield "river, its running scaler", River(self.classes), raw
        if find_spec("vowpalwabbit"):
            yield "Vowpal Wabbit, raw rows", VowpalWabbit(self.classes), raw
        yield "AdaReg, raw rows", Estimator(ours, self.classes), raw

    def stops(self):
        """Numbers of rows seen, even steps on a logarithmic axis."""
        return np.geomspace(20, len(self.y), STOPS).round().astype(int)

    def shares(self, learner, X, X_test):
        """The learner's share at each stop: 0 the batch model, 1 no better than a constant."""
        shares, start = [], 0
        for stop in self.stops():
            learner.partial_fit(X[start:stop], self.y[start:stop])
            with np.errstate(over="ignore"):
                loss = self.loss(learner.predict(X_test))
            shares.append(min(1.0, (loss - self.batch) / (self.constant - self.batch)))
            start = stop
        return shares


def run(X, y):
    """Rows seen, and for each learner its shares, (splits, stops)."""
    splits = [Split(X, y, seed) for seed in range(N_SPLITS)]
    curves = {}
    for split in splits:
        for name, learner, rows in split.learners():
            curves.setdefault(name, []).append(split.shares(learner, *rows))
    return splits[0].stops(), {name: np.array(shares) for name, shares in curves.items()}


def print_table(results):
    """Shares after a tenth of the rows, a third, and all."""
    print(f"share (0 batch model, 1 constant), one pass, means over {N_SPLITS} splits\n")
    for title, (stops, curves) in results.items():
        columns = [int(np.argmin(abs(stops - stops[-1] * part))) for part in (0.1, 0.33, 1)]
        print(f"{title:31}" + "".join(f"{stops[column]:6d} rows" for column in columns))
        for name, shares in curves.items():
            ends = shares.mean(axis=0)[columns]
            print(f"  {name:29}" + "".join(f"{share:11.3f}" for share in ends))
        print()


def draw(results, path):
    """Share over rows seen, a panel a data set: means, and the range over splits for ours."""
    figure, axes = plt.subplots(1, len(results), figsize=(11.5, 4.5), sharey=True, layout="constrained")
    for axis, (title, (stops, curves)) in zip(axes, results.items(), strict=True):
        axis.axhline(0, color="0.3", lw=1.2, ls="--")
        for name, shares in curves.items():
            axis.plot(stops, shares.mean(axis=0), label=name, **{"lw": 2, **STYLES[name]})
        axis.fill_between(stops, shares.min(axis=0), shares.max(axis=0), color="#d1495b", alpha=0.15, lw=0)
        end = shares.mean(axis=0)[-1]
        axis.annotate(
            f"{end:.2f}",
            (stops[-1], end),
            xytext=(3, 5),
            textcoords="offset points",
            color="#d1495b",
            fontweight="bold",
            annotation_clip=False,
        )
        axis.set_title(title, fontsize=11, loc="left")
        axis.set_xscale("log")
        ticks = [tick for tick in (20, 50, 100, 200, 400, 1000) if tick <= stops[-1]]
        axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.minorticks_off()
        axis.set_xlim(stops[0], stops[-1])
        axis.set_xlabel("rows seen")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.92")
        axis.set_axisbelow(True)
    axes[0].set_ylim(-0.12, 1.03)
    axes[0].set_ylabel("share: 0 tuned batch model, 1 constant")
    axes[0].annotate(
        "tuned batch model, all rows, scaled",
        (stops[0], 0),
        xytext=(3, -4),
        textcoords="offset points",
        va="top",
        color="0.35",
        fontsize=9,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=5, frameon=False, fontsize=10)
    figure.suptitle(
        "One pass over raw data, default parameters: how much of what a tuned batch model knows is still missing",
        fontsize=12,
    )
    figure.savefig(path, dpi=150)
    print(f"figure: {path}")


def main(path="one_pass_on_raw_data.png"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SGD overflows on raw rows, which is the point
        results = {title: run(X, y) for title, (X, y) in DATA.items()}
    print_table(results)
    draw(results, path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
