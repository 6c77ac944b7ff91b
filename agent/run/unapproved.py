"""Hand over a run that needed an approval which nobody could give, with the options that let the next run pass."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..loops.shared.judged import with_help
from ..protocol import Finish, LoopKind, Reason
from ..protocol.text.path_text import quoted_path

if TYPE_CHECKING:
    from ..step.resources.context import RunContext

_UNFINISHED = frozenset({Reason.BUDGET, Reason.STAGNATION, Reason.OSCILLATION, Reason.TOOL_ERRORS})
_MOST = 5
"""Files that the options name."""


def handed_over(ctx: RunContext, end: Finish) -> Finish:
    """Return a hand-off instead of an end at a limit, if the user can allow beforehand what was refused."""
    facts = ctx.facts
    is_alone = not (ctx.watched() or facts.spec.tiers)
    is_plain = facts.spec.loop is LoopKind.GOAL and facts.spec.tries is None and ctx.scope is not None
    if end.reason not in _UNFINISHED or not (is_alone and is_plain):
        return end
    files, command = facts.requests.unnamed, facts.requests.uninstalled
    paths = [*dict.fromkeys([*files, *(_files_out_of_scope(ctx, command) if command else ())])][:_MOST]
    helps = [f"--scope {shlex.quote(path)}" for path in paths]
    if command:
        helps.append(f"--setup {shlex.quote(command)}")
    if not helps:
        return end
    what = [*map(quoted_path, files[:_MOST]), *([f"what `{command}` installs"] if command else [])]
    why = f"{end.detail}; nobody was here to approve {', '.join(what)}"
    return replace(end, reason=Reason.HANDOFF, detail=with_help(why, helps), help=helps, limit=None)


def _files_out_of_scope(ctx: RunContext, command: str) -> list[str]:
    """Return what else the command changed that only `--scope` lets a run change."""
    scope = ctx.scope
    assert scope is not None  # the caller looked
    return [
        path
        for change in ctx.facts.changes.standing
        if change.command == command
        for path, effect in change.files.items()
        if not scope.is_ignored(path, is_folder=False) and not scope.in_scope(path, new=effect.old is None)
    ]
