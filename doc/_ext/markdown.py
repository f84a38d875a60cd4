"""A directive for pages that exist as Markdown, ``.. markdown:: ../CHANGELOG.md``: headings, lists, tables, code and links."""

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

UNDERLINES = {1: "=", 2: "-", 3: "~", 4: "^"}


def to_rst(text):
    """Lines of reStructuredText for the part of Markdown that this project's pages use."""
    fenced = table = False
    for line in text.splitlines():
        if table and not line.startswith("|"):
            table = False
            yield ""
        if line.startswith("```"):
            fenced = not fenced
            yield from ("", f".. code-block:: {line[3:] or 'text'}", "") if fenced else ("",)
        elif fenced:
            yield f"   {line}"
        elif heading := re.match(r"(#+) (.*)", line):
            title = _inline(heading[2])
            yield from ("", title, UNDERLINES[len(heading[1])] * len(title), "")
        elif line.startswith("|"):
            if not table:
                yield from ("", ".. list-table::", "   :header-rows: 1", "")
                table = True
            if not set(line) <= set("|-: "):
                cells = [_inline(cell.strip()) for cell in line.strip("|").split("|")]
                yield from (f"   {'  -' if i else '* -'} {cell}" for i, cell in enumerate(cells))
        else:
            yield _inline(line)


def _inline(line):
    # what stands between backticks is code, and stays as it is
    parts = re.split(r"`([^`]+)`", line)
    for i in range(0, len(parts), 2):
        text = parts[i].replace("\\", "\\\\").replace("_", "\\_")
        parts[i] = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"`\1 <\2>`__", text)
    return "".join(f"``{part}``" if i % 2 else part for i, part in enumerate(parts))


class Markdown(SphinxDirective):
    """The contents of a Markdown file, at this place of the page."""

    required_arguments = 1
    option_spec = {"end-before": directives.unchanged}

    def run(self):
        path = Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]
        self.env.note_dependency(str(path))
        holder = nodes.section()
        holder.document = self.state.document
        text = path.read_text(encoding="utf-8")
        if end := self.options.get("end-before"):
            text = text[: text.index(end)]
        lines = StringList(list(to_rst(text)), source=str(path))
        nested_parse_with_titles(self.state, lines, holder)
        return holder.children


def setup(app):
    app.add_directive("markdown", Markdown)
    return {"parallel_read_safe": True}
