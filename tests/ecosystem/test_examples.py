"""Every example runs as a user runs it, draws its figure and prints its table."""

import re
import runpy
import sys
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("plot_*.py"))
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")


@pytest.fixture
def agg():
    """Drawing without a screen; figures left open are closed afterwards."""
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_the_examples_are_found():
    assert len(EXAMPLES) >= 5


@pytest.mark.usefixtures("agg")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_writes_its_figure_and_prints_a_table(example, tmp_path, monkeypatch, capsys):
    figure = tmp_path / "figure.png"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example), str(figure)])
    runpy.run_path(str(example), run_name="__main__")

    assert list(tmp_path.iterdir()) == [figure], "one figure, where it was asked for"
    image = matplotlib.image.imread(figure)
    assert image.shape[1] >= 1000
    assert image[..., :3].std() > 0.05, "the figure is blank"
    rows = [line for line in capsys.readouterr().out.splitlines() if NUMBER.search(line)]
    assert len(rows) >= 3, "a table has at least three rows of numbers"
