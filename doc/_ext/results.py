"""Tables and figures of measurements, made from the JSON files in doc/results when the site is built.

``.. results:: NAME`` puts a table there, and says what it was measured with and by which command. The figures are
drawn to doc/results/generated. So no number of these has to be copied by hand.
"""

import json
import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parents[1]
ROOT = HERE.parent
TASKS = {"binary": "two classes", "multi": "more classes", "regression": "regression"}
LEARNERS = {
    "adareg": "**defaults, one pass, raw rows**",
    "diag": 'the same with ``structure="diag"``',
    "river": "river, one pass, its running scaler",
    "vw": "Vowpal Wabbit, one pass, raw rows",
    "sgd": "SGD, to convergence, rows scaled beforehand",
    "sgd1": "SGD, one pass, rows scaled beforehand",
    "sgd1 raw": "SGD, one pass, raw rows",
}
SHORT = {"adareg": "AdaReg", "river": "river", "vw": "VW", "sgd": "SGD", "sgd1": "SGD, 1 pass"}
SHORT |= {"sgd1 raw": "SGD, 1 pass, raw", "diag": "AdaReg diag", "full": "AdaReg full"}
COMMANDS = {
    "quality": "python benchmarks/quality.py DATA_DIR --peers --json doc/results/quality.json",
    "convergence": "python benchmarks/quality.py DATA_DIR --convergence --json doc/results/convergence.json",
    "sensitivity": "python benchmarks/sensitivity.py DATA_DIR --json doc/results/sensitivity.json",
    "speed": "python benchmarks/speed.py DATA_DIR --json doc/results/speed.json",
}


def load(name):
    """The measurements of one file."""
    return json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))


def list_table(head, rows, title=""):
    """Lines of reStructuredText."""
    yield from (f".. list-table:: {title}", "   :header-rows: 1", "   :class: adareg-numbers", "")
    for row in (head, *rows):
        yield from (f"   {'  -' if i else '* -'} {cell}" for i, cell in enumerate(row))
    yield ""


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}f}"


def quality_means():
    """Mean share of each learner and task."""
    found = load("quality")
    counts = {task: sum(row["task"] == task for row in found["shares"]) for task in TASKS}
    head = ["mean share", *(f"{TASKS[task]}, {counts[task]} sets" for task in TASKS)]
    rows = [[text, *(number(found["means"][task].get(name)) for task in TASKS)] for name, text in LEARNERS.items()]
    yield from list_table(head, rows)


def quality_sets():
    """The share of each learner on each set."""
    found = load("quality")
    head = ["data", *SHORT.values(), "rows", "features", "chosen"]
    for task, title in TASKS.items():
        rows = [
            [
                row["data"],
                *(number(row["shares"].get(name)) for name in SHORT),
                f"{row['rows']:,}",
                f"{row['features']:,}",
                f"{row['chosen'].get('potential')} {row['chosen'].get('structure')}",
            ]
            for row in found["shares"]
            if row["task"] == task
        ]
        yield from list_table(head, rows, title)


def quality_streams():
    """Losses of the streams in their own order."""
    found = load("quality")["streams"]
    learners = list(dict.fromkeys(row["learner"] for row in found))
    names = {"adareg": "AdaReg", "frequencies or mean so far": "constant so far"}
    rows = []
    for stream in dict.fromkeys(row["data"] for row in found):
        cells = {row["learner"]: row for row in found if row["data"] == stream}
        for figure in ("loss", "accuracy", "mae"):
            values = [cells.get(learner, {}).get(figure) for learner in learners]
            if any(value is not None for value in values):
                by_row = cells["adareg"].get("progressive_loss") if figure == "loss" else None
                shown = ["" if value is None else f"{value:.3g}" for value in (by_row, *values)]
                rows.append([stream, figure, *shown])
    head = ["stream", "", "AdaReg, row by row", *(names.get(name, name) for name in learners)]
    yield from list_table(head, rows)


def convergence_means():
    """Default fits to their own stopping: means by task."""
    found = load("convergence")["convergence"]
    rows = []
    for task, title in TASKS.items():
        group = [row for row in found if row["task"] == task]
        means = [sum(row["shares"][i] for row in group) / len(group) for i in (0, 1)]
        sooner = sum(row["seconds"][0] < row["seconds"][1] for row in group)
        rows.append([title, *(number(mean) for mean in means), f"{sooner} of {len(group)}"])
    head = ["", "AdaReg, raw rows", "SGD, scaled rows", "AdaReg takes less processor time on"]
    yield from list_table(head, rows)


def sensitivity_lines():
    """Mean and worst share with one thing changed; a change that changes nothing is left out."""
    found = load("sensitivity")["changes"]
    usual = found["defaults"]
    rows = [
        [name, *(f"{mean:.3f} ({worst:.3f})" for mean, worst in (change[t] for t in TASKS))]
        for name, change in found.items()
        if name == "defaults" or change != usual
    ]
    yield from list_table(["", *TASKS.values()], rows)


def speed_lines():
    """Every line of the speed benchmark, as a ratio to its peer."""
    rows = [
        [line["work"], line["peer"], number(max(line["wall"], line["cpu"] or 0.0), 2)]
        for line in load("speed")["lines"]
    ]
    yield from list_table(["work", "peer", "times as fast"], rows)


TABLES = {
    "quality-means": quality_means,
    "quality-sets": quality_sets,
    "quality-streams": quality_streams,
    "convergence-means": convergence_means,
    "sensitivity-lines": sensitivity_lines,
    "speed-lines": speed_lines,
}


def provenance(name):
    """A line that says how a table was made."""
    versions = load(name)["environment"]
    shown = ", ".join(f"{package} {value}" for package, value in versions.items() if value)
    yield from ("", ".. code-block:: sh", "", f"   {COMMANDS[name]}", "")
    yield from (".. rst-class:: adareg-provenance", "", f"Measured with {shown}.", "")


class Results(SphinxDirective):
    """A table of measurements."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        source = name.split("-")[0]
        self.env.note_dependency(str(HERE / "results" / f"{source}.json"))
        lines = [*TABLES[name](), *provenance(source)]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=f"results {name}"), 0, holder)
        return holder.children


class DataSources(SphinxDirective):
    """The data sets of the benchmarks with their sources and licences."""

    def run(self):
        sys.path.insert(0, str(ROOT / "benchmarks"))
        from data_sets.sources import SOURCES

        rows = []
        for name, source in SOURCES.items():
            had = "package" if source.package else "download" if source.url else "prepared"
            if not name.endswith(".t"):
                rows.append([name, had, source.origin, source.licence])
        holder = nodes.container()
        lines = list(list_table(["set", "from", "origin", "licence"], rows))
        self.state.nested_parse(StringList(lines, source="data sources"), 0, holder)
        return holder.children


def draw_figures(app):
    """The figures of the measurements, where they are older than their files."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from reporting import figures

    folder = HERE / "results" / "generated"
    folder.mkdir(exist_ok=True)
    works = {
        "shares.png": ("quality", lambda found, path: figures.plot_shares(found["shares"], path)),
        "speed.png": ("speed", lambda found, path: figures.plot_speed(found["lines"], path)),
    }
    for name, (source, draw) in works.items():
        target, origin = folder / name, HERE / "results" / f"{source}.json"
        if not target.exists() or target.stat().st_mtime < origin.stat().st_mtime:
            draw(load(source), str(target))


def setup(app):
    app.add_directive("results", Results)
    app.add_directive("data-sources", DataSources)
    app.connect("builder-inited", draw_figures)
    return {"parallel_read_safe": True}
