"""What a person types after a command, as a command of the run: the same words for `/stop now` and `ctl RUN stop now`.

Does not import textual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rundry.agent import (
    EDIT_FORMATS,
    EFFORTS,
    AddRule,
    Clear,
    Command,
    Compact,
    EditFormat,
    GateMode,
    Interrupt,
    Pause,
    SetLimit,
    StepOnce,
    Stop,
    StopCommand,
    UserError,
    Wake,
    edit_format_named,
)

from ..start.read_limit import parse_limit
from ..text.show_text import one_line
from .deny_rule import parse_deny


def typed_command(name: str, argument: str) -> Command:
    """Return the command for a name of `TYPED` and what follows it. Raises UserError."""
    return TYPED[name](argument.strip())


def effort_named(argument: str) -> str:
    """Return this effort. Raises UserError if there is none of this name."""
    if argument not in EFFORTS:
        raise UserError(f"effort {_shown(argument)}: use {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")
    return argument


def format_named(argument: str) -> EditFormat:
    """Return this edit format. Raises UserError if there is none of this name."""
    if (found := edit_format_named(argument)) is None:
        raise UserError(f"format {_shown(argument)}: use {', '.join(EDIT_FORMATS[:-1])} or {EDIT_FORMATS[-1]}")
    return found


def gate_mode_named(argument: str) -> GateMode:
    """Return this gate mode. Raises UserError if there is none of this name."""
    if argument not in list(GateMode):
        raise UserError(f"gate {_shown(argument)}: use read, ask, effects, edits, auto or stage")
    return GateMode(argument)


def limit_of(argument: str) -> SetLimit:
    """Return the limit of `steps 60` or `steps=60`. Raises UserError."""
    name, _, value = argument.replace("=", " ", 1).partition(" ")
    if not value.strip():
        raise UserError(f"limit {_shown(argument)}: write a name and a value, such as `steps 60` or `usd none`")
    name, limit = parse_limit(name, value)
    return SetLimit(name=name, value=limit)


def _stop(argument: str) -> Stop | StopCommand:
    if argument in ("", "now"):
        return Stop(how="now" if argument else "wrap_up")
    return StopCommand(name=argument)


def _pause(argument: str) -> Pause:
    if argument not in ("", "now"):
        raise UserError(f"pause {_shown(argument)}: use `pause`, or `pause now` to interrupt the step")
    return Pause(now=bool(argument))


def _compact(argument: str) -> Compact:
    if argument not in ("", "undo"):
        raise UserError(
            f"compact {_shown(argument)}: use `compact`, or `compact undo` to revert it; on the screen `/compact show`"
        )
    return Compact(undo=bool(argument))


def _alone(name: str, command: Callable[[], Command]) -> Callable[[str], Command]:
    def make(argument: str) -> Command:
        if argument:
            raise UserError(f"{name} takes no arguments, not {one_line(argument)[:60]!r}")
        return command()

    return make


def _shown(argument: str) -> str:
    return repr(one_line(argument)[:40])


TYPED: Mapping[str, Callable[[str], Command]] = {
    "stop": _stop,
    "pause": _pause,
    "compact": _compact,
    "limit": limit_of,
    "deny": lambda argument: AddRule(rule=parse_deny(argument)),
    "clear": _alone("clear", Clear),
    "step": _alone("step", StepOnce),
    "wake": _alone("wake", Wake),
    "interrupt": _alone("interrupt", Interrupt),
}
"""Name of a command to the function that reads what follows it."""
