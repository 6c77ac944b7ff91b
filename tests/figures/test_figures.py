"""The figures of small source trees, by the functions and by the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .__main__ import at_revision
from .docstrings import short_docstrings
from .floors import below, shares
from .house import constructor_callbacks, cutters, shared_names, single_importers
from .imports import circles, import_graph
from .picture import levels, picture, room_graph
from .source import Source, code_of, read_tree
from .table import NAMES, figures
from .texts import screen_texts
from .walks import walks
from .writes import outside_writes

TESTS = Path(__file__).parents[1]
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def tree(root: Path, files: dict[str, str]) -> list[Source]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_tree(root)


def test_imports_in_functions_and_for_annotations_are_edges_and_the_latter_can_be_left_out(tmp_path: Path):
    code = tree(
        tmp_path,
        {
            "agent/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n",
            "agent/b.py": "def load():\n    from .deep import c\n",
            "agent/deep/__init__.py": "",
            "agent/deep/c.py": "import json\n",
            "tui/app/app.py": "from rundry.agent import a\n",
        },
    )
    edges = {"agent.a": {"agent.b"}, "agent.b": {"agent.deep.c"}, "tui.app.app": {"agent.a"}}
    assert {name: to for name, to in import_graph(code).items() if to} == edges
    assert {name: to for name, to in import_graph(code, types=False).items() if to} == {
        n: edges[n] for n in ("agent.b", "tui.app.app")
    }


def test_a_name_of_a_lazy_package_is_an_import_of_the_module_that_defines_it(tmp_path: Path):
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n    from .c import *\n"
    code = tree(
        tmp_path,
        {
            "agent/__init__.py": lazy + "def __getattr__(name): ...\n",
            "agent/b.py": "from . import c\n",
            "agent/c.py": "",
            "tui/one.py": "from rundry.agent import B\n",
            "tui/two.py": "from rundry.agent import C\n",
        },
    )
    graph = import_graph(code, types=False)
    assert graph["agent"] == set()
    assert (graph["tui.one"], graph["tui.two"]) == ({"agent.b"}, {"agent.c"})


def test_modules_that_import_each_other_are_a_circle(tmp_path: Path):
    code = tree(
        tmp_path,
        {
            "agent/a.py": "from . import b\n",
            "agent/b.py": "from . import c\n",
            "agent/c.py": "from . import a, d\n",
            "agent/d.py": "",
        },
    )
    graph = import_graph(code)
    assert circles(graph) == [["agent.a", "agent.b", "agent.c"]]


def test_only_short_docstrings_of_public_names_count(tmp_path: Path):
    text = '"""A module."""\ndef run():\n    """Runs it all now."""\ndef _hidden():\n    """Too short."""\n'
    text += 'class Loop:\n    """Repeat a task until its check passes."""\n    def go(self):\n        """Works."""\n'
    found = [place.what for place in short_docstrings(tree(tmp_path, {"agent/a.py": text}))]
    assert found == ["module: A module.", "run: Runs it all now.", "Loop.go: Works."]


def test_only_writes_into_objects_of_others_count(tmp_path: Path):
    text = """
def f(self, given, names):
    self.a = 1
    self.styles.height = 2
    made = Thing()
    made.a = 3
    with Window() as window:
        window.title = ""
    given.a = 4
    self.b.c += 5
    found = lookup()
    found.a, local = 6, 7
    setattr(given, names, 8)
    def inner():
        made.b = 9
        given.b = 10
"""
    things = "class Thing:\n    a = b = c = d = 0\n"
    found = [
        place.line for place in outside_writes(code_of(tree(tmp_path, {"tui/a.py": text, "agent/x/y.py": things})))
    ]
    assert found == [9, 10, 12, 13, 16]


def test_a_package_writes_into_its_own_objects_and_into_those_of_a_library(tmp_path: Path):
    things = "class Thing:\n    def __init__(self):\n        self.state = 0\n"
    write = "def go(thing, widget):\n    thing.state = 1\n    widget.display = False\n"
    files = {"agent/x/thing.py": things} | {
        f"{folder}/w.py": write for folder in ("agent/x", "agent/x/y", "agent", "tui")
    }
    found = [place.path for place in outside_writes(code_of(tree(tmp_path, files)))]
    assert found == ["agent/w.py", "tui/w.py"]


def test_the_screen_sets_styles_and_reactive_attributes_of_widgets_and_the_core_does_not(tmp_path: Path):
    things = "class Thing:\n    value = height = title = 0\n"
    write = "def go(widget):\n    widget.value = 1\n    widget.styles.height = 2\n    widget.title = 3\n"
    files = {"agent/x/thing.py": things, "agent/y/w.py": write, "tui/a/w.py": write}
    found = [str(place) for place in outside_writes(code_of(tree(tmp_path, files)))]
    assert found == [
        "agent/y/w.py:2: widget.value = ...",
        "agent/y/w.py:3: widget.styles.height = ...",
        "agent/y/w.py:4: widget.title = ...",
        "tui/a/w.py:4: widget.title = ...",
    ]


def test_walks_are_numbered_lists_below_their_headings(tmp_path: Path):
    page = "# Code\n1. `no.py`\n## Walk: a step\nText.\n1. `a.py`: first\n2. Then `b.py` and `c.py`.\n"
    page += "## Other\n3. `no.py`\n"
    assert walks(tmp_path) == {}
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text(page)
    assert {name: [place.what for place in places] for name, places in walks(tmp_path).items()} == {
        "a step": ["a.py", "b.py"]
    }


def test_texts_of_the_screen_and_errors_of_the_core_are_listed_and_names_are_not(tmp_path: Path):
    screen = 'CSS = "Board { height: 1; }"\n"""The style sheet."""\n__all__ = ["Board"]\n'
    screen += 'def f(n):\n    """Draw it all."""\n    show("Approve", "gate", f"{n} steps left")\n'
    core = 'LIMIT = "not shown here"\ndef g(n):\n    raise UserError(f"unknown model {n!r}: see models")\n'
    code = code_of(tree(tmp_path, {"tui/a.py": screen, "agent/b.py": core}))
    assert [str(place) for place in screen_texts(code)] == [
        "agent/b.py:3: unknown model {...}: see models",
        "tui/a.py:6: Approve",
        "tui/a.py:6: {...} steps left",
    ]


def test_the_figures_of_an_earlier_revision_stay_what_they_were(tmp_path: Path):
    tree(tmp_path, {"agent/a.py": "from . import b\n", "agent/b.py": "from . import a\n"})
    for args in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-qm", "Add a circle"]):
        subprocess.run(["git", *args], cwd=tmp_path, check=True)
    (tmp_path / "agent/b.py").write_text("")
    before = {row.name: row.value for row in at_revision(tmp_path, "HEAD")}
    today = {row.name: row.value for row in figures(tmp_path)}
    assert (before["circles"], before["walks"]) == ("1", "-")
    assert today["circles"] == "0"
    assert tuple(today) == NAMES


def test_an_unknown_figure_is_refused_with_the_names_of_all():
    command = [sys.executable, "-m", "figures", "--list", "colours"]
    ran = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "'walks', 'circles'" in ran.stderr


def test_the_figures_of_the_house_count_single_importers_callbacks_shared_names_and_cut_texts(tmp_path: Path):
    code = tree(
        tmp_path,
        {
            "agent/gate/view.py": "from collections.abc import Callable\nKeep = Callable[[bytes], str]\n",
            "agent/gate/panel.py": (
                "from .view import Keep\n"
                "class Panel:\n"
                "    def __init__(self, keep: Keep, content: bytes) -> None: ...\n"
                "def _short(text: str) -> str:\n"
                "    return text[:9] + '…'\n"
            ),
            "tui/view.py": "from textual import Content\nclass View:\n    def __init__(self, row: Content): ...\n",
        },
    )
    assert [place.path for place in single_importers(code)] == ["agent/gate/view.py"]
    assert [place.what for place in constructor_callbacks(code)] == ["Panel.keep: Keep"]
    assert [place.path for place in shared_names(code)] == ["agent/gate/view.py", "tui/view.py"]
    assert [place.what for place in cutters(code)] == ["_short"]


def test_a_picture_lays_a_room_above_those_it_imports_and_draws_imports_within_a_circle(tmp_path: Path):
    sources = tree(
        tmp_path,
        {
            "agent/run/drive.py": "from ..step import perform\n",
            "agent/step/perform.py": "from ..run.table import ROWS\nfrom ..host import clock\n",
            "agent/run/table.py": "ROWS = 1\n",
            "agent/host/clock.py": "",
            "agent/gate/gate.py": "from ..host import clock\n" + "x = 1\n" * 60,
        },
    )
    graph = room_graph(code_of(sources), "agent")
    assert levels(graph, ["run", "step", "host", "gate"]) == {"host": 0, "gate": 1, "run": 1, "step": 1}
    drawn = picture(sources, "Before & after")
    assert "Before &amp; after: 65 lines in 5 files" in drawn
    assert drawn.count('<path class="u"') == 2 and "run imports from step 1 times" in drawn
    assert [drawn.count(f'<rect class="{kind}"') for kind in "mos"] == [3, 0, 2]


def test_the_share_of_a_room_is_that_of_its_lines_and_falls_below_its_floor_by_name(tmp_path: Path):
    lines = {"agent/run/a.py": (9, 10), "agent/run/live/b.py": (0, 30), "agent/gate/c.py": (5, 5), "agent/d.py": (1, 2)}
    report = {"files": {p: {"summary": {"covered_lines": c, "num_statements": n}} for p, (c, n) in lines.items()}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    found = shares(tmp_path / "report.json")
    assert found == {"agent": 50.0, "agent/gate": 100.0, "agent/run": 22.5}
    assert below(found, {"agent": 50, "agent/gate": 100, "agent/run": 22}) == []
    assert below(found, {"agent": 50, "agent/run": 23, "tui/app": 90}) == [
        "agent/gate: no floor",
        "agent/run: 22.5 %, floor 23 %",
        "tui/app: 0.0 %, floor 90 %",
    ]
