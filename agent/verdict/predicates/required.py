"""Check `--require`: actions that must have happened according to the journal, whatever the model claims."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol, cast

import msgspec

from ...protocol import UserError
from ...protocol.tools.traits import tools_with
from ...shell.parse_words import UNKNOWN, SimpleCommand, simple_commands
from ..checks.predicate_verdict import PredicateVerdict
from .commands_run import has_run, part_that_ran

AFTER_LAST_EDIT = "after-last-edit"
AS_WRITTEN = "{} ran as a command of the model: what else its line did is not checked"
_COMMANDS = tools_with("command")
_WRITERS = tools_with("change")
_OF_FILES = (*_WRITERS, "read_file")


class RecordedAction(Protocol):
    """A tool call and its result, from the journal's facts."""

    @property
    def tool(self) -> str:
        """Name of the called tool."""
        ...

    @property
    def arguments(self) -> object:
        """Arguments as the model wrote them."""
        ...

    @property
    def step(self) -> int | None:
        """The step that made the call."""
        ...

    @property
    def ok(self) -> bool | None:
        """Whether the call succeeded, or None if it has not ended."""
        ...

    @property
    def ended(self) -> int:
        """Sequence number of the result in the journal."""
        ...

    @property
    def edited(self) -> bool:
        """Whether the call is a command during which files of the workspace changed."""
        ...

    @property
    def disturbed(self) -> bool:
        """Whether its result is not about the files of the workspace: something that it changed was not applied."""
        ...


class RunActions(msgspec.Struct, frozen=True):
    """The actions of a run, and the changes of files that they caused."""

    actions: Sequence[RecordedAction]
    applied: frozenset[tuple[int | None, str]] = frozenset()
    """Pairs (step, path) of edits that were applied and not undone."""
    last_edit: int = 0
    """Sequence number of the newest change of a file in the journal."""
    is_watched: bool = True
    """Whether changes by commands are known. False means that the workspace cannot be read."""
    root: Path = Path("/nonexistent")


class Requirement(msgspec.Struct, frozen=True):
    """A parsed `--require`: the tool, a text that its arguments must contain, and when the call must happen."""

    tool: str
    text: str
    after_last_edit: bool

    @property
    def call(self) -> str:
        """Description of the call for messages."""
        return f"`{self.tool}` with `{self.text}`" if self.text else f"`{self.tool}`"

    @property
    def shown(self) -> str:
        """Description of the whole requirement for messages."""
        return f"{self.call} after the last edit" if self.after_last_edit else self.call


def parse_requirement(action: str) -> Requirement:
    """Parse `TOOL` or `TOOL:TEXT`, either with an optional `:after-last-edit`. Raises UserError."""
    tool, _, text = action.partition(":")
    bare = text.removesuffix(AFTER_LAST_EDIT)
    after = bare != text and (not bare or bare.endswith(":"))
    text = bare.removesuffix(":") if after else text
    if not tool.isidentifier():
        raise UserError(f"--require {action}: write a tool's name, or TOOL:TEXT")
    if tool in _COMMANDS and text.strip():
        _wanted_command(action, text)
    return Requirement(tool, text.strip(), after)


def _wanted_command(action: str, text: str) -> SimpleCommand:
    commands = simple_commands(text)
    if len(commands) != 1 or not commands[0].is_sure or any(UNKNOWN in word for word in commands[0].words):
        fix = "write one program with its arguments, and one --require for each program"
        raise UserError(f"--require {action}: `{text}` is not one plain command; {fix}")
    return commands[0]


def required_commands(actions: Sequence[str]) -> list[str]:
    """Return the required command lines. The files that they execute are out of the scope."""
    wanted = [parse_requirement(action) for action in actions]
    return [one.text for one in wanted if one.tool in _COMMANDS and one.text]


def judge_required(action: str, run_actions: RunActions) -> PredicateVerdict:
    """Return whether such a call succeeded and was applied. A command must itself have exited with 0 for certain."""
    wanted = parse_requirement(action)
    command = _command_of(wanted)
    made = _made(wanted, command, run_actions)
    done = [a for a in made if not (command and a.disturbed)]
    name = f"require {action}"
    if made and not done:
        why = "what it changed was not applied; run it again on its own"
        return PredicateVerdict(name, False, f"{wanted.call}: {why}")
    if not done:
        return PredicateVerdict(
            name, False, f"no call of {wanted.shown.removesuffix(' after the last edit')} has succeeded{_hint(wanted)}"
        )
    if wanted.after_last_edit and not any(_is_after_edits(a, command, run_actions) for a in done):
        return PredicateVerdict(name, False, f"{wanted.shown}: files changed after the newest such call; run it again")
    unknown = [AS_WRITTEN.format(wanted.call)] if command else []
    times = "once" if len(done) == 1 else f"{len(done)} times"
    return PredicateVerdict(name, True, f"{wanted.shown} succeeded {times}", unknown)


class RequiredRun(NamedTuple):
    """The newest call that meets a requirement of a command."""

    line: str
    """The command as the call has it, or the required text where the words are not known before it runs."""
    is_alone: bool
    """Whether no other command of the call may have changed a file."""


def required_run(action: str, run_actions: RunActions) -> RequiredRun | None:
    """Return the newest call that meets a requirement, or None if there is none, or no command is required."""
    wanted = parse_requirement(action)
    command = _command_of(wanted)
    done = [] if command is None else [a for a in _made(wanted, command, run_actions) if not a.disturbed]
    if command is None or not done:
        return None
    line, root = _argument(max(done, key=lambda one: one.ended), "command"), run_actions.root
    part = part_that_ran(command, line, root) or wanted.text
    return RequiredRun(part, has_run(command, line, root, alone=True))


def _command_of(wanted: Requirement) -> SimpleCommand | None:
    is_command = wanted.tool in _COMMANDS and wanted.text
    return _wanted_command(wanted.text, wanted.text) if is_command else None


def _made(wanted: Requirement, command: SimpleCommand | None, run_actions: RunActions) -> list[RecordedAction]:
    """Return the successful calls of a requirement. `command`: of the requirement, if it is about one."""
    return [
        one
        for one in run_actions.actions
        if one.tool == wanted.tool and one.ok is True and _fits(one, wanted, command, run_actions)
    ]


def _hint(wanted: Requirement) -> str:
    if wanted.tool != "run_command" or not wanted.text:
        return " in this run"
    how = "in the workspace's folder, so that its own exit status is that of the whole command line"
    return f" in this run: run `{wanted.text}` {how}"


def _fits(action: RecordedAction, wanted: Requirement, command: SimpleCommand | None, run_actions: RunActions) -> bool:
    if action.tool in _WRITERS and not _was_applied(action, run_actions):
        return False
    if not wanted.text:
        return True
    if command is not None:
        return has_run(command, _argument(action, "command"), run_actions.root)
    if action.tool in _OF_FILES:
        return _is_path(_relative(_argument(action, "path"), run_actions.root), wanted.text)
    return _mentions(action.arguments, wanted.text)


def _was_applied(action: RecordedAction, run_actions: RunActions) -> bool:
    return (action.step, _relative(_argument(action, "path"), run_actions.root)) in run_actions.applied


def _is_after_edits(action: RecordedAction, command: SimpleCommand | None, run_actions: RunActions) -> bool:
    """Return whether no file changed after the call, or by another command of the same line."""
    if run_actions.last_edit > action.ended:
        return False
    line = _argument(action, "command")
    if action.edited and command is not None and not has_run(command, line, run_actions.root, alone=True):
        return False
    later = (other for other in run_actions.actions if other.tool in _COMMANDS and other.ended > action.ended)
    return run_actions.is_watched or not any(later)


def _argument(action: RecordedAction, name: str) -> str:
    given = action.arguments
    return str(cast("dict[str, object]", given).get(name, "")) if isinstance(given, dict) else ""


def _relative(path: str, root: Path) -> str:
    return os.path.relpath(os.path.normpath(root / path), root).replace(os.sep, "/")


def _is_path(path: str, wanted: str) -> bool:
    """Return whether `wanted` is the whole path, its last parts, or a matching glob."""
    bare = os.path.normpath(wanted).replace(os.sep, "/")
    return path == bare or path.endswith(f"/{bare}") or fnmatchcase(path, bare) or PurePosixPath(path).match(bare)


def _mentions(arguments: object, text: str) -> bool:
    match arguments:
        case str():
            return text in arguments
        case dict():
            return any(_mentions(value, text) for value in cast("dict[str, object]", arguments).values())
        case list():
            return any(_mentions(value, text) for value in cast("list[object]", arguments))
        case bool() | None:
            return False
        case _:
            return text == str(arguments)
