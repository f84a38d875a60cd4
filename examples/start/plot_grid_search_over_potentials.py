"""
GridSearchCV over algorithms: potential, structure and step size at once
========================================================================

Potential and structure are parameters of one estimator, so ``GridSearchCV`` searches over AdaGrad, the p-norm algorithm and Online
Newton Step, isotropic, diagonal and full, together with their step size. Every cell of the figure is one pass over the training folds
of the digits data, odd against even, pixels as they are. The defaults, for which nothing was searched, are in the table.
"""

import sys

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split

from sklearn_adareg import AdaRegClassifier

POTENTIALS, STRUCTURES = ["adagrad", "pnorm", "ons"], ["iso", "diag", "full"]
STEP_SIZES = [0.5, 1.0, 2.0, 4.0, 8.0]

X, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, digit % 2, test_size=0.6, stratify=digit, random_state=0)
model = AdaRegClassifier(max_iter=1, random_state=0)
search = GridSearchCV(
    model,
    {"structure": STRUCTURES, "potential": POTENTIALS, "eta": STEP_SIZES},
    scoring="neg_log_loss",
    cv=StratifiedKFold(3, shuffle=True, random_state=0),
).fit(X, y)

# %%
# The winner beside the default parameters, on rows that no fold has seen.
print(f"{'':30}{'log-loss':>10}{'accuracy':>10}")
best = " ".join(f"{value}" for value in search.best_params_.values())
for name, fitted in ((best, search), ("default parameters", model.fit(X, y))):
    loss, accuracy = (log_loss(y_test, fitted.predict_proba(X_test)), fitted.predict(X_test) == y_test)
    print(f"{name:30}{loss:10.3f}{accuracy.mean():10.3f}")
print(f"{'the winner, on the folds':30}{-search.best_score_:10.3f}")

# %%
# A panel for each structure; the frame marks the winner.
table = pd.DataFrame(search.cv_results_["params"]).assign(loss=-search.cv_results_["mean_test_score"])
lowest = table["loss"].min()
figure, axes = plt.subplots(1, 3, figsize=(9.5, 4), sharey=True, layout="constrained")
for axis, structure in zip(axes, STRUCTURES, strict=True):
    rows = table[table["structure"] == structure].pivot(index="potential", columns="eta", values="loss")
    panel = rows.loc[POTENTIALS].to_numpy()
    axis.imshow(panel, vmin=lowest, vmax=2 * lowest, cmap="YlGnBu_r", aspect="auto")
    for i in range(3):
        for j in range(5):
            colour = "w" if panel[i, j] < 1.5 * lowest else "0.1"
            axis.text(j, i, f"{panel[i, j]:.2f}", ha="center", va="center", color=colour)
    if panel.min() == lowest:
        i, j = divmod(int(panel.argmin()), 5)
        axis.add_patch(Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, ec="#d55e00", lw=4))
    axis.set(title=structure, xlabel="step size η")
    axis.set_xticks(range(5), [f"{eta:g}" for eta in STEP_SIZES])
    axis.set_yticks(range(3), POTENTIALS)
figure.suptitle("Cross-validated log-loss of one pass: dark is good, the frame is the best")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "grid_search.png", dpi=150)
