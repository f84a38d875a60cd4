"""The figures: a dot for each learner on each data set (``quality.py``), a bar for each work (``speed.py``)."""

import numpy as np

# label in the results → how it looks; ours is drawn last, on top
STYLES = {
    "sgd1 raw": {"marker": "v", "color": "#c9b8a8", "label": "SGD, one pass, raw"},
    "sgd1": {"marker": "^", "color": "#b08d6a", "label": "SGD, one pass, pre-scaled"},
    "sgd": {"marker": "D", "color": "#8c6d4f", "label": "SGD, converged, pre-scaled"},
    "river": {"marker": "P", "color": "#7fa8c9", "label": "river, one pass, its scaler"},
    "vw": {"marker": "s", "color": "#4a7fb0", "label": "Vowpal Wabbit, one pass, raw"},
    "adareg": {"marker": "o", "color": "#d1495b", "label": "AdaReg defaults, one pass, raw"},
}
TITLES = {"binary": "two classes", "multi": "more classes", "regression": "regression"}
TICKS = [-0.02, 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]


def _spread(share):
    """A signed square root: the good end, near 0, deserves the room."""
    return np.sign(share) * np.sqrt(np.abs(share))


def _gather(share):
    return np.sign(share) * share**2


def plot_shares(results, path):
    """Save the dot plot of shares.

    Parameters
    ----------
    results : list of dict
        ``data``, ``task`` and ``shares`` (learner → share) of each data set.
    path : str
        Where to save the figure; the suffix decides the format.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tasks = [task for task in TITLES if any(row["task"] == task for row in results)]
    groups = [[row for row in results if row["task"] == task] for task in tasks]
    heights = [len(group) + 1.6 for group in groups]
    figure, axes = plt.subplots(
        len(tasks),
        sharex=True,
        squeeze=False,
        figsize=(8.2, 0.27 * sum(heights) + 1.7),
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
    )
    for ax, task, group in zip(axes[:, 0], tasks, groups, strict=True):
        _panel(ax, group)
        ax.set_title(TITLES[task], loc="left", fontsize=10, fontweight="bold")
    bottom = axes[-1, 0]
    lowest = min(row["shares"].get(name, 0) for row in results for name in STYLES)
    bottom.set_xlim(min(-0.01, 1.3 * lowest), 1.06)
    ticks = [tick for tick in TICKS if tick >= 1.3 * lowest]
    bottom.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
    bottom.set_xlabel("share of the way from the tuned batch model (0) to the constant predictor (1)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def _panel(ax, group):
    """One task: the sets from best to worst for us, and the mean below a rule."""
    group = sorted(group, key=lambda row: row["shares"]["adareg"])
    learners = [name for name in STYLES if any(name in row["shares"] for row in group)]
    ax.set_xscale("function", functions=(_spread, _gather))
    ax.axvline(0, color="0.25", linewidth=0.8, zorder=1)
    below = len(group) + 0.4
    ax.axhline(len(group) - 0.4, color="0.7", linewidth=0.8)
    for level, row in enumerate(group):
        shares = [row["shares"][name] for name in learners if name in row["shares"]]
        ax.hlines(level, min(shares), max(shares), color="0.9", linewidth=3, zorder=0)
    for name in learners:
        points = [(row["shares"][name], level) for level, row in enumerate(group) if name in row["shares"]]
        size, front = (46, 4) if name == "adareg" else (26, 3)
        style = {**STYLES[name], "edgecolors": "white", "linewidths": 0.6, "zorder": front, "clip_on": False}
        ax.scatter(*zip(*points, strict=True), s=size, **style)
        if len(points) == len(group):
            style["label"] = None
            ax.scatter(np.mean([share for share, _ in points]), below, s=1.6 * size, **style)
    ax.set_yticks([*range(len(group)), below], [*(row["data"] for row in group), "mean"], fontsize=8.5)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set_ylim(below + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.93", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)


def plot_speed(lines, path):
    """Save the bars of ``speed.py``: how many times faster than its peer each work is.

    Parameters
    ----------
    lines : list of dict
        ``work``, ``peer``, ``wall``, ``cpu`` and ``required`` of each line.
    path : str
        Where to save the figure; the suffix decides the format.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ratios = [max(line["wall"], line["cpu"] or 0.0) for line in lines]
    at = np.arange(len(lines))[::-1]
    figure, ax = plt.subplots(figsize=(8.2, 0.23 * len(lines) + 1.2), layout="constrained")
    reached = [ratio >= line["required"] for ratio, line in zip(ratios, lines, strict=True)]
    ax.barh(
        at,
        [ratio - 1.0 for ratio in ratios],
        left=1.0,
        height=0.7,
        color=["#d1495b" if yes else "#e8b4bb" for yes in reached],
    )
    required = [line["required"] for line in lines]
    ax.plot(required, at, "|", color="0.15", ms=9, label="what we ask for")
    for y, ratio, asked in zip(at, ratios, required, strict=True):
        ax.text(1.05 * max(ratio, asked, 1.0), y, f"{ratio:.2g}", va="center", fontsize=7)
    ax.set_xscale("log")
    ax.axvline(1.0, color="0.5", lw=0.8)
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xlim(0.3, 90)
    ax.minorticks_off()
    peers = [line["peer"].split(",")[0] for line in lines]
    names = [f"{line['work']}  ·  {peer}" for line, peer in zip(lines, peers, strict=True)]
    ax.set_yticks(at, names, fontsize=7)
    ax.set_ylim(-0.7, len(lines) - 0.3)
    ax.set_xlabel("the peer's time over ours; right of 1 we are faster")
    ax.legend(loc="lower right", fontsize=8, frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
