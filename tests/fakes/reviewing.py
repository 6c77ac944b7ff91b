"""A scripted reviewer: what each lens reports, and which findings its verifiers refute."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .server import ScriptedServer
from .turns import Turn, call

_LENS = re.compile(r"Your way to look is `([^`]+)`")
_TITLE = re.compile(r"Finding `[^`]+`: (.*)")


def git(folder: Path, *argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip("\n")


def committed(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make a git project with one commit of these files."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "someone")
    git(folder, "config", "user.email", "someone@localhost")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def found(title: str, evidence: str, detail: str = "") -> dict[str, str]:
    """A finding as a lens reports it."""
    return {"title": title, "evidence": evidence, "detail": detail}


class Reviewer(ScriptedServer):
    def __init__(
        self,
        lenses: Mapping[str, Sequence[dict[str, str]]],
        *,
        refutes: Sequence[str] = (),
        fixes: Callable[[str, list[dict[str, Any]]], Turn] | None = None,
        **more: Any,
    ) -> None:
        """`lenses`: what each lens reports, each time that it looks. `refutes`: titles of findings that are refuted.

        `fixes` plays the model of a repair: it gets the task and the messages.
        """
        super().__init__([], **more)
        self.lenses, self.refutes, self._fixes = dict(lenses), set(refutes), fixes
        self.rounds = 0
        """Number of repairs that began."""

    def choose(self, body: dict[str, Any]) -> Turn:
        messages = body["messages"]
        system, user = (_text(messages[at]) for at in (0, 1))
        if (lens := _LENS.search(system)) is not None:
            return self._report(lens[1], _text(messages[1]))
        if "Try to refute it" in system:
            title = _TITLE.search(user)
            verdict = "refuted" if title is not None and title[1] in self.refutes else "stands"
            return call("judge", verdict=verdict, reason="looked")
        if "run dry" in system:
            return call("propose", reason="nothing is missing")
        if self._fixes is None:
            return call("finish", answer="nothing to do", citations=[])
        return self._fixes(user, messages)

    def _report(self, lens: str, prompt: str) -> Turn:
        findings = list(self.lenses.get(lens, ()))
        return call("report", found_new=bool(findings), reason="looked", findings=findings, items=[])

    def _next(self, body: dict[str, Any]) -> Turn:
        turn = self.choose(body)
        roles = [message.get("role") for message in reversed(body["messages"])]
        is_read = "tool" in roles[: roles.index("user")]
        if not is_read and any(one.name in ("report", "judge") for one in turn.calls):
            return call("search", pattern=".")
        return turn


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def reviewer(lenses: Mapping[str, Sequence[dict[str, str]]], **more: Any) -> Reviewer:
    return Reviewer(lenses, **more)
