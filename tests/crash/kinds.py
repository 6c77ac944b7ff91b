"""The kinds of loops that are crashed: a command, its folder, and a model that answers from the request alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.models.model_by_role import NOTHING, judge, report
from fakes.models.stateless_server import Answer, answered, in_turn
from fakes.project import CHECK, FIX_ADD, FIX_MEAN, git, make_project, read
from fakes.turns import Turn, call, calls, edit, finish, say

ADD_LINE = edit("NOTES.md", "# Notes\n", "# Notes\n\nOne line.\n")
"""Applied twice, the line stands there twice."""
NEW = call("write_file", path="a/new.txt", content="new\n")
RUN = call("run_command", command="echo ran >> ran.txt")
FILES = ("a.txt", "b.txt", "c.txt")
WORKER = """\
import json, sys
key = json.load(sys.stdin)["key"]
n = int(key)
with open("worked.txt", "a") as log:
    log.write(f"{n}\\n")
more = [{"kind": "value", "value": str(k)} for k in (2 * n, 2 * n + 1) if k < 8]
print(json.dumps({"items": more}))
"""


@dataclass(frozen=True)
class Kind:
    """A kind of loop."""

    name: str
    argv: Sequence[str]
    make: Callable[[Path], object]
    answer: Callable[[Path], Answer]
    """The folder to the model."""
    repeats: int = 1
    """Calls of the model that a crash may repeat: those of the works that are under way at the same time."""
    loose: Sequence[str] = ()
    """Files whose newest lines may be missing or there twice, because a command was under way."""
    has_model: bool = True
    exit_codes: Sequence[int] = (0,)
    is_approved: bool = False
    """The run hands over a proposal, and it is `rundry approve` that is crashed."""


def of_texts(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_text("old\n")


def of_repository(folder: Path) -> None:
    of_texts(folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "start")


def of_worker(folder: Path) -> None:
    (folder / "worker.py").write_text(WORKER)
    (folder / "search.toml").write_text(
        'task = "work them"\nconcurrency = 2\nretries = 3\n[[seed]]\nkind = "value"\nvalue = "1"\n'
        f'[worker]\ncommand = ["{sys.executable}", "worker.py"]\n'
    )


def of_one_item(folder: Path) -> None:
    """A search whose only item writes one line."""
    (folder / "worker.py").write_text(WORKER)
    (folder / "search.toml").write_text(
        'task = "work it"\nconcurrency = 1\nretries = 3\n[[seed]]\nkind = "value"\nvalue = "8"\n'
        f'[worker]\ncommand = ["{sys.executable}", "worker.py"]\n'
    )


def of_lenses(folder: Path) -> None:
    of_texts(folder)
    (folder / "search.toml").write_text(
        'task = "what is old"\nconcurrency = 2\n[refute]\nsceptics = 1\n'
        '[[lens]]\nname = "taint"\nprompt = "look"\n[[lens]]\nname = "auth"\nprompt = "look too"\n'
    )


def searching(body: dict[str, Any]) -> Turn:
    text = json.dumps(body["messages"])
    roles = [message["role"] for message in body["messages"]]
    if "Try to refute it" in text and "tool" not in roles:
        return call("search", pattern=".")
    if "Try to refute it" in text:
        return judge("refuted" if "`title: c" in text else "stands")
    if "run dry" in text:
        return call("propose", reason="nothing is missing")
    if "tool" not in roles[::-1][: roles[::-1].index("user")]:
        return read("a.txt")
    name = "a" if "way to look is `taint`" in text else "b"
    finding: dict[str, Any] = {"title": f"{name} is old", "evidence": f"{name}.txt:1"}
    return NOTHING if f"{name} is old" in text else report(finding)


def migrating(body: dict[str, Any]) -> Turn:
    text = json.dumps(body["messages"])
    name = next(name for name in FILES if f"The file: {name}" in text)
    return edit(name, "old", "new")


def hourly(folder: Path) -> Answer:
    """Each pass adds one line."""

    def answer(body: dict[str, Any]) -> Turn:
        if answered(body):
            return finish("looked", "NOTES.md")
        return call("write_file", path="NOTES.md", content=(folder / "NOTES.md").read_text() + "pass\n")

    return answer


SHORTER = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "goal",
            ["run", "fix it", "--gate", "auto", "--until", CHECK],
            make_project,
            lambda _: in_turn(calls(FIX_ADD.calls[0], ADD_LINE.calls[0]), RUN, FIX_MEAN),
            loose=["ran.txt"],
        ),
        Kind(
            "task",
            ["run", "look at it", "--gate", "edits"],
            make_project,
            lambda _: in_turn(read("NOTES.md"), ADD_LINE, NEW, finish("looked", "NOTES.md")),
        ),
        Kind(
            "approve",
            ["run", "look at it", "--gate", "ask", "--on-ask", "handoff"],
            make_project,
            lambda _: in_turn(ADD_LINE, finish("looked", "NOTES.md")),
            is_approved=True,
        ),
        Kind(
            "worker",
            ["find", "search.toml", "--trust"],
            of_worker,
            lambda _: in_turn(say("")),
            2,
            ["worked.txt"],
            False,
        ),
        # Two works are under way at the same time, and each begins again with its two calls.
        Kind("find", ["find", "search.toml"], of_lenses, lambda _: searching, 4),
        Kind(
            "migrate",
            ["find", "--recipe", "migrate", "--gate", "auto", "--check", "grep -q new {file}", "*.txt"],
            of_texts,
            lambda _: migrating,
            4,
        ),
        Kind(
            "parallel",
            [
                "find",
                "--recipe",
                "migrate",
                "--parallel",
                "2",
                "--gate",
                "auto",
                "--check",
                "grep -q new {file}",
                "*.txt",
            ],
            of_repository,
            lambda _: migrating,
            4,
        ),
        Kind(
            "improve",
            [
                "run",
                "shorten",
                "--gate",
                "auto",
                "--score",
                "wc -c < NOTES.md",
                "--scope",
                "NOTES.md",
                "--goal",
                "min",
                "--patience",
                "1",
                "--steps",
                "20",
            ],
            make_project,
            lambda _: in_turn(SHORTER, finish("looked", "NOTES.md")),
        ),
        Kind(
            "improve-runs",
            [
                "run",
                "shorten",
                "--gate",
                "auto",
                "--score",
                "wc -c < NOTES.md",
                "--scope",
                "NOTES.md",
                "--goal",
                "min",
                "--pass-loop",
                "goal",
                "--until",
                "grep -q Notes NOTES.md",
                "--patience",
                "1",
                "--steps",
                "20",
            ],
            make_project,
            lambda _: in_turn(SHORTER, finish("looked", "NOTES.md")),
        ),
        Kind(
            "tries",
            [
                "run",
                "make it new",
                "--gate",
                "auto",
                "--until",
                "grep -q new a.txt",
                "--tries",
                "2",
                "--scope",
                "a.txt",
            ],
            of_repository,
            lambda _: in_turn(edit("a.txt", "old", "new")),
            2,
        ),
        Kind(
            "repeat",
            ["find", "search.toml", "--trust", "--every", "1s", "--steps", "3"],
            of_one_item,
            lambda _: in_turn(say("")),
            loose=["worked.txt"],
            has_model=False,
            exit_codes=[3],
        ),
        Kind(
            "interval",
            ["run", "look after it", "--gate", "auto", "--every", "1s", "--steps", "5"],
            make_project,
            hourly,
            exit_codes=[3],
        ),
    )
}
