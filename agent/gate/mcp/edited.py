"""Turn a person's version of a call's arguments into a ruling."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, cast

from ..notes import comment_line
from ..ruling import Ruling, approved

if TYPE_CHECKING:
    from ...protocol import Decide
    from ..draft import McpDraft

_LONGEST_NOTE = 4_000


def edited_call(command: Decide, text: str, draft: McpDraft) -> Ruling | str:
    """Return the ruling that calls the tool with the person's own arguments, or why they cannot be used."""
    if draft.is_listing:
        return "a list of tools cannot be edited: approve it or reject it"
    try:
        arguments: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"this is not JSON: {error}"
    if not isinstance(arguments, dict):
        return "the arguments are not a JSON object"
    if why := draft.problem_of(cast("dict[str, Any]", arguments)):
        return f"the arguments do not fit the schema of {draft.name}: {why}"
    new = json.dumps(arguments, ensure_ascii=False, indent=2)
    if new == draft.arguments:
        return approved(draft, by="person", reason=command.reason, note=comment_line(command.reason))
    changes = "\n".join(unified_diff(draft.arguments.splitlines(), new.splitlines(), lineterm="", n=1))[:_LONGEST_NOTE]
    head = "the person changed the arguments of your call before approving it."
    note = "\n".join(line for line in (head, comment_line(command.reason), changes) if line)
    reason = command.reason or "the person changed the arguments"
    return approved(draft, by="person", reason=reason, after=new.encode(), note=note, edited=True)
