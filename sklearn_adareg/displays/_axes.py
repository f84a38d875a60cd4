"""What the displays share: matplotlib, which is optional, and axes to draw on."""

from sklearn.utils._optional_dependencies import check_matplotlib_support


def axes_of(display, ax, count=1, width=6.0):
    """The given axes, or new ones of a figure of their own; ``count`` side by side."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(1, count, figsize=(width * count, 4.5), layout="constrained", squeeze=False)
        return list(ax[0])
    axes = list(ax) if count > 1 else [ax]
    if len(axes) != count:
        raise ValueError(
            f"{type(display).__name__} draws on {count} axes here, and ax has {len(axes)}; pass as many, or None."
        )
    return axes


def tidy(ax):
    """Without the box, with a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
