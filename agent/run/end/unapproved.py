"""Hand over a run that needed an approval which nobody could give, with the options that let the next run pass.

A green run names the files whose changes were refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...protocol import Finish, LoopKind, Reason
from ...protocol.text.counts import first_names
from ...protocol.text.path_text import quoted_path
from ...verdict.scope.next_options import NextOptions
from ...verdict.scope.scope import Scope
from ..loops.shared.judged_end import with_help

if TYPE_CHECKING:
    from ...protocol import Judged
    from ...step.resources.run_context import RunContext

_UNFINISHED = frozenset({Reason.BUDGET, Reason.STAGNATION, Reason.OSCILLATION, Reason.TOOL_ERRORS})
_MOST = 5
"""Files that the options name."""


def handed_over(ctx: RunContext, end: Finish) -> Finish:
    """Return a hand-off instead of an end at a limit, if the user can allow beforehand what was refused.

    `done` names the refused changes, and is a hand-off if the task names one of their files and nobody is here.
    """
    facts = ctx.facts
    is_alone = not (ctx.journal.views.is_attended() or facts.spec.tiers)
    if end.reason is Reason.DONE and facts.spec.loop is LoopKind.GOAL:
        return _with_refused(ctx, end, is_alone=is_alone)
    is_plain = facts.spec.loop is LoopKind.GOAL and facts.spec.tries is None and ctx.scope is not None
    if end.reason not in _UNFINISHED or not (is_alone and is_plain):
        return end
    files, command = facts.requests.unnamed, facts.requests.uninstalled
    paths = [*dict.fromkeys([*files, *(_files_out_of_scope(ctx, command) if command else ())])][:_MOST]
    options = _options(ctx, paths)
    if command:
        options.add_setup(command)
    if not (options.help or options.look_first):
        return _with_judgement(end, facts.verdicts.judgement)
    what = [*map(quoted_path, files[:_MOST]), *([f"what `{command}` installs"] if command else [])]
    why = f"{end.detail}; nobody was here to approve {', '.join(what)}"
    return _with_options(replace(end, limit=None), why, options)


def _with_judgement(end: Finish, judged: Judged | None) -> Finish:
    """Return the end of a run whose checks pass, and whose judge said which options the user can give."""
    if judged is None or judged.passed or not (judged.help or judged.look_first):
        return end
    why = f"{end.detail}; the checks pass in the workspace, but not in a fresh place: {judged.detail}"
    return _with_options(replace(end, limit=None), why, NextOptions(judged.help, judged.look_first))


def _with_refused(ctx: RunContext, end: Finish, *, is_alone: bool) -> Finish:
    """Return the end of a green run that names the files of which each change was refused."""
    facts = ctx.facts
    changed = {path for log in (facts.changes.standing, facts.changes.in_stage) for one in log for path in one.files}
    refused = sorted(facts.requests.refused_files - changed)
    if not refused:
        return end
    asked = [path for path in refused if _names(facts.spec.task, path)]
    if not (asked and is_alone):
        return replace(end, detail=f"{end.detail}; refused: {first_names([*map(quoted_path, refused)], _MOST)}")
    options = _options(ctx, [path for path in asked[:_MOST] if path in facts.requests.unnamed])
    names = first_names([*map(quoted_path, asked)], _MOST)
    why = f"{end.detail}, but the task names {names}, and each change of it was refused"
    return _with_options(end, why, options)


def _options(ctx: RunContext, paths: Sequence[str]) -> NextOptions:
    """Return the options that allow changes of these files, which the run could not make."""
    options, scope = NextOptions(), ctx.scope or Scope()
    for path in paths:
        is_new = not os.path.lexists(ctx.workspace.root / path)
        options.add_scope(scope, path, new=is_new, change="refused change of the")
    return options


def _with_options(end: Finish, why: str, options: NextOptions) -> Finish:
    detail = with_help(why, options.help)
    return replace(end, reason=Reason.HANDOFF, detail=detail, help=options.help, look_first=options.look_first)


def _names(task: str, path: str) -> bool:
    """Return whether a text names a file: by its path, or by a name that is not an ordinary word."""
    name = path.rpartition("/")[2]
    names = [path, name] if "." in name or name != name.lower() else [path]
    return any(re.search(rf"(?<![\w./-]){re.escape(one)}(?![\w/-]|\.\w)", task) for one in names)


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
