"""Passes that commit."""

from __future__ import annotations

from collections.abc import Callable

from fakes.in_process.driven import Driven
from fakes.turns import call, finish

Make = Callable[..., Driven]


DONE = finish("did it", "a.txt")


RED = ["! grep -rq broken a.txt"]


WHO = "export GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m GIT_COMMITTER_EMAIL=m@x; "


def sh(command: str):
    return call("run_command", command=WHO + command)


def verdicts(run: Driven) -> list[str]:
    return [event["verdict"] for event in run.of("pass_finished")]
