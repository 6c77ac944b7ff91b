"""Page of exit codes and reasons: exit-codes.md, from the reasons of an outcome."""

from __future__ import annotations

from rundry.agent.protocol.outcome import ALWAYS_COMPLETE, Reason, exit_code
from rundry.tui.cli.help_texts import EXIT_CODES

from .documented import field_texts
from .markdown import code, page, table
from .words import WORDS, head


def pages() -> dict[str, str]:
    texts = field_texts(Reason)
    rows = [(code(reason), texts[reason.name], _complete(reason), _codes(reason)) for reason in Reason]
    return {
        "exit-codes.md": page(
            [
                *head("exit-codes"),
                *table(("reason", "meaning", "complete", "exit code"), rows),
                "## Exit codes",
                "",
                *table(("exit code", "meaning"), EXIT_CODES),
                WORDS["heads"]["exit-codes-end"],
            ]
        )
    }


def _complete(reason: Reason) -> str:
    return "yes" if reason in ALWAYS_COMPLETE else "if nothing failed permanently" if reason is Reason.DRY else "no"


def _codes(reason: Reason) -> str:
    usual = exit_code(reason, complete=True)
    if reason is Reason.DRY:
        return f"{usual}, or {exit_code(reason, complete=False)} if not complete"
    if (again := exit_code(reason, complete=False, retryable=True)) != usual:
        return f"{usual}, or {again} if a later retry can succeed"
    return str(usual)
