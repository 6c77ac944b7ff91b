"""The lines that the gate shows around a proposal. Does not import textual."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rundry.agent import IN_PLACE, effects_title, plural

from ..text.shorten_cells import cells_cut
from ..text.show_text import one_line, path_line, show
from .entry_choices import ENTRY, STAGE, counts_of, state_of

if TYPE_CHECKING:
    from rundry.agent import CommandEffects, ProposalOpened, RebaseResult

    from ..keys.keymap import Keymap
    from .hunk_choices import HunkChoices
    from .pending_decision import PendingDecision, Shown

VERBS = {"edit_file": "edit", "write_file": "write", "run_command": "run"}
EDITED = "edited by you: {approve} approves your version"
STALE = "the file changed and your version no longer fits: press {edit} to edit it again"
NO_PLACE = "the file of your version is gone: your version is kept in case the file returns"
EDITS = ["edits"]
"""What needs approval if only the mode of the gate asks for it."""
_NO_RULE = re.compile(r"no rule allows `([^\s`]+)[^`]*`")
EDITING = [("^s", "keep your version"), ("esc", "discard it")]
_NAME = 24
"""Maximum number of letters of a hunk's name in the line of keys."""
_COMMAND = 40
"""Maximum number of characters of a command in a title."""


def name(proposal: ProposalOpened) -> str:
    """Return the name of a proposal: `edit src/calc.py`, `run a command`."""
    if proposal.tool == STAGE:
        return "staged changes"
    if proposal.effects is not None and proposal.effects.heading:
        return f"{_who(proposal)}{one_line(proposal.effects.heading)}"
    if proposal.effects is not None:
        return f"{_who(proposal)}changes of {_short(proposal.effects.command)}"
    if proposal.tool == ENTRY:
        of_command = f", changed by {_short(proposal.command)}" if proposal.command else ""
        return f"{path_line(proposal.path or '')}{of_command}"
    if proposal.plan is not None:
        return "plan"
    verb = VERBS.get(proposal.tool, one_line(proposal.tool))
    if proposal.server is not None:
        return f"{_who(proposal)}{_call_name(proposal)}"
    if proposal.url is not None:
        what = "search the web with" if proposal.query is not None else "request a page of"
        return f"{_who(proposal)}{what} {one_line(proposal.host or '')}"
    if proposal.path is None:
        what = "start a background command" if proposal.tool == "start_command" else f"{verb} a command"
        return f"{_who(proposal)}{what}"
    if verb == "run":
        verb = "changed by a command:"
    return f"{_who(proposal)}{verb} {path_line(proposal.path)}"


def about(proposal: ProposalOpened, hunks: int | None = None) -> str:
    """Return `3 hunks  +12 −4`, or where a command runs. `hunks`: the number after splits, if it differs."""
    if proposal.effects is not None:
        counts = f"  +{proposal.added:,} −{proposal.removed:,}" if proposal.added or proposal.removed else ""
        return f"{effects_title(proposal.effects)}{counts}"
    if proposal.tool == ENTRY and not proposal.hunks:
        return f"{'deleted  ' * (proposal.after is None)}+{proposal.added} −{proposal.removed}"
    if proposal.path is not None:
        is_new = proposal.before is None and proposal.after is not None
        what = counted(hunks or proposal.hunks, proposal.added, proposal.removed) if proposal.hunks else "empty"
        return f"new file  {what}" if is_new else what if proposal.hunks else ""
    if proposal.server is not None or proposal.url is not None:
        return ""
    if proposal.plan is not None:
        return plural(len(proposal.plan.partition("\n\n")[0].strip().splitlines()), "step")
    held = proposal.sandbox if proposal.sandbox is not None else "unsandboxed"
    if proposal.beyond is not None:
        held = "again, with that allowed"
    return f"in {one_line(proposal.cwd or '.')}   {held}"


def _short(command: str) -> str:
    return cells_cut(one_line(" ".join(command.split())), _COMMAND)


def _call_name(proposal: ProposalOpened) -> str:
    """Return `call get_time of MCP server time`, or what a proposal about its tools and instructions is for."""
    server = f"MCP server {one_line(proposal.server or '')}"
    return f"call {one_line(proposal.name)} of {server}" if proposal.name else f"use what {server} changed"


def _who(proposal: ProposalOpened) -> str:
    """Return `try 2 of 3: ` if the proposal belongs to a try, and `worktree 2, src/app.py: ` if it belongs to an item.

    The file of the item is left out where the proposal changes exactly this file.
    """
    who = proposal.who.removesuffix(f", {proposal.path}") if proposal.path is not None else proposal.who
    return f"{one_line(who)}: " if who else ""


def counted(hunks: int, added: int, removed: int) -> str:
    """Return the counts of a change as text: `3 hunks  +12 −4`."""
    return f"{plural(hunks, 'hunk')}  +{added} −{removed}"


def listed(proposal: ProposalOpened) -> str:
    """Return the name of a proposal for the list of waiting ones."""
    if proposal.path is None and proposal.command is None:
        return name(proposal)
    if proposal.path is None:
        return f"{_who(proposal)}run {one_line(proposal.command or '')[:32]}"
    return name(proposal)


def body(proposal: ProposalOpened) -> str:
    """Return a command, a URL, the arguments of a call or a plan in full, with a mark for each hidden character."""
    return show(proposal.command or proposal.call or proposal.request or (proposal.plan or "").rstrip("\n"))


def notes(
    proposal: ProposalOpened,
    rebasing: RebaseResult | None,
    pending: PendingDecision,
    keymap: Keymap,
    *,
    explained: bool,
    is_tight: bool,
    acts: bool = True,
) -> list[tuple[str, bool]]:
    """Return what the person should know before they decide, a line each; true: it is a danger.

    `explained`: each reason in full. `is_tight`: there is room for very few lines. `acts`: the view can decide.
    """
    found: list[tuple[str, bool]] = []
    if rebasing is not None:
        whose = one_line(rebasing.why) or f"your edit of {rebasing.clock}"
        found.append((f"conflict with {whose}", True) if rebasing.conflict else (f"re-based on {whose}", False))
    if pending.edited is not None:
        found.append((keymap.named(EDITED), False))
    if proposal.plan is not None:
        return found or [(one_line(line), False) for line in proposal.asks]
    if pending.draft is not None:
        is_gone = rebasing is not None and rebasing.conflict and rebasing.merged is None
        found.append((NO_PLACE if is_gone else keymap.named(STALE), True))
    if proposal.beyond is not None:
        once = f". {keymap.shown('approve')} allows it once" if acts else ""
        found.append((f"the sandbox refused: {one_line(proposal.beyond)}{once}", True))
        return found + [(one_line(line), True) for line in proposal.asks if proposal.beyond not in line]
    is_conflict = rebasing is not None and rebasing.conflict
    if (is_conflict or (is_tight and found)) and not explained and not proposal.danger:
        return found
    return found + _reasons(proposal, keymap, explained=explained, is_tight=is_tight)


def _reasons(proposal: ProposalOpened, keymap: Keymap, *, explained: bool, is_tight: bool) -> list[tuple[str, bool]]:
    """Return why it waits: in one line, or each reason in full if that was asked for or is a danger."""
    if proposal.effects is not None and not explained:
        return []  # the reasons stand at the entries
    asks = [one_line(line) for line in proposal.asks]
    if explained or (proposal.danger and not is_tight) or not asks:
        return [(line, proposal.danger) for line in asks]
    if is_tight and proposal.needs == EDITS:
        return []  # the footer shows the mode
    needs = proposal.needs or _unruled(asks)
    more = f" (and {len(asks) - 1} more: {keymap.shown('explain')})" if len(asks) > 1 and not needs else ""
    text = ", ".join(map(one_line, needs)) or asks[0]
    also = [(one_line(line), proposal.danger) for line in proposal.asks if line == IN_PLACE and not is_tight]
    return [(f"Needs approval: {text}{more}", proposal.danger), *also]


def _unruled(asks: Sequence[str]) -> list[str]:
    """Return the names of the commands that no rule allows, from the reasons of an older journal."""
    found = [_NO_RULE.fullmatch(line) for line in asks]
    return list(dict.fromkeys(match[1] for match in found if match)) if all(found) else []


def rules_of(proposal: ProposalOpened) -> Sequence[str]:
    """Return the rules that allow exactly this from now on, also from an older journal."""
    return proposal.rules or ([proposal.rule] if proposal.rule is not None else [])


def allowed_words(proposal: ProposalOpened, *, prefix: bool = False) -> str:
    """Return what the rules of a proposal allow, or with `prefix` those of its prefixes: `pytest -q`, `tail -5`."""
    if proposal.path is not None:
        return f"edits of {path_line(proposal.path)}"
    words = ", ".join(map(_command_of, proposal.prefixes if prefix else rules_of(proposal)))
    return f"requests to {words}" if proposal.url is not None else words


def allow_question(proposal: ProposalOpened, key: str, prefix_key: str, *, always: bool) -> list[str]:
    """Return what this key, and the key for the prefix, allow when they are pressed next; a line for each."""
    rules, prefixes, lines = rules_of(proposal), proposal.prefixes, list[str]()
    if rules and always:
        lines.append(f"always would write into .rundry.toml: {_written(rules)}")
    elif rules:
        more = "" if prefixes else ", without asking; /allowed revokes it"
        lines.append(f"{key} again allows {allowed_words(proposal)} for this session{more}")
    if prefixes and always:
        lines.append(f"{prefix_key} writes for all arguments: {_written(prefixes)}")
    elif prefixes:
        lines.append(f"{prefix_key} allows all arguments: {allowed_words(proposal, prefix=True)}; /allowed revokes it")
    return lines


def _written(rules: Sequence[str]) -> str:
    if len(rules) == 1:
        return one_line(rules[0])
    return f"{rules[0].partition(': ')[0]}: {', '.join(map(_command_of, rules))}"


def _command_of(rule: str) -> str:
    return f"`{one_line(rule.partition(': ')[2] or rule.removeprefix('allow '))}`"


def may_always(proposal: ProposalOpened) -> bool:
    """Return whether rules could allow the proposal."""
    return bool(rules_of(proposal) or proposal.prefixes) and not proposal.danger and proposal.beyond is None


def keys(
    shown: Shown,
    pending: PendingDecision,
    *,
    asked: object,
    current: int,
    other: str,
    hunks: int,
    files: int = 1,
) -> list[tuple[str, str]]:
    """Return keys with their descriptions, the most important ones first.

    `current` is one of `hunks` on the screen, and `other` the name of another one that Tab asks about. `files` of the
    same answer wait.
    """
    proposal, picks = shown.proposal, pending.picks
    if shown.in_conflict and pending.edited is None:
        by_hand = [("e", "merge by hand")] * can_be_joined(shown)
        found = [("r", "ask the model again"), ("m", "keep mine"), *by_hand, ("n", "reject")]
    elif picks.count and not picks.accepted_count:
        found = [("n", "reject")]
    else:
        found = [("y", _approve(shown, pending)), ("n", "reject")]
    if files > 1:
        found.append(("Y", "press again" if isinstance(asked, tuple) else f"approve all {files}"))
    if shown.count:
        found += [("space", "accept or skip"), ("s", "split")]
    if is_editable(proposal) and (not shown.in_conflict or pending.edited is not None):
        found.append(("e", "edit"))
    if may_always(proposal) and not shown.in_conflict and not picks.skipped_count and pending.edited is None:
        found += [("p", "all arguments")] if proposal.prefixes and asked in ("session", "always") else []
        found.append(("a", "allow: press again" if asked == "session" else "allow…"))
        found.append(("A", "always: press again" if asked == "always" else "always…"))
    is_skipped = shown.count and not picks.is_accepted(current)
    reason = (
        "tab",
        f'why not "{one_line(other)[:_NAME]}"' if other else "why skipped" if is_skipped else "reason",
    )
    found.insert(3 if other or is_skipped else len(found), reason)
    if hunks > 1:
        found.append(("] [", "hunk"))
    if shown.count > 1:
        found.append(("+ -", "all, none"))
    if proposal.asks and proposal.plan is None:
        found.append(("i", "why"))
    return [*found, ("?", "keys")]


def list_keys(
    effects: CommandEffects, pending: PendingDecision, *, current: int, other: str, asked: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the keys in the list of what a command would change. `other`: as in `keys`. `asked`: why it waits."""
    accepted, skipped_count = counts_of(effects, pending)
    found = [("n", "reject")]
    if accepted:
        found.insert(0, ("y", f"approve {accepted}" if skipped_count else "approve"))
    found += [("space", "accept or skip"), ("enter", "open")]
    is_skipped = 0 <= current < len(effects.entries) and state_of(effects, pending, current) == "skipped"
    reason = (
        "tab",
        f'why not "{one_line(other)[:_NAME]}"' if other else "why skipped" if is_skipped else "reason",
    )
    found.insert(3 if other or is_skipped else len(found), reason)
    found += [("+ -", "all, none")] if len(effects.entries) > 1 else []
    return [*found, *([("i", "why")] if asked else []), ("?", "keys")]


def entry_keys(found: Sequence[tuple[str, str]], picks: HunkChoices) -> list[tuple[str, str]]:
    """Return the keys in an entry of several: there `y` and `n` accept and skip the file, and Esc leads to the list."""
    accept = f"accept {picks.accepted_count} of {plural(picks.count, 'hunk')}" if picks.skipped_count else "accept file"
    meant = {"y": accept, "n": "skip file"}
    words = [(key, meant.get(key, what)) for key, what in found]
    return [*words[:2], ("esc", "list"), *words[2:]]


def stage_keys(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the keys for what a run staged: nothing is rejected, it only stays staged."""
    return [(key, what.replace("approve", "apply").replace("reject", "leave staged")) for key, what in found]


_SHORTER = {
    "accept file": "accept",
    "skip file": "skip it",
    "ask the model again": "again",
    "keep mine": "mine",
    "leave staged": "leave",
    "merge by hand": "merge",
    "accept or skip": "skip",
    "why skipped": "why",
    "allow: press again": "again",
    "always: press again": "again",
    "allow…": "allow",
}


def shorter(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the keys with shorter words, for a narrow screen."""
    return [("␣" if key == "space" else key, _SHORTER.get(what, what)) for key, what in keys]


def asking(hunk: str | None) -> list[tuple[str, str]]:
    """Return the keys while a reason is typed: for the hunk with this name, or for the whole answer."""
    what = "keep as the reason" if hunk is None else f'keep as the reason to skip "{one_line(hunk)}"'
    return [("⏎", what), ("esc", "go back")]


def reasons(pending: PendingDecision) -> str:
    """Return the reason for the whole answer."""
    return f'reason: "{one_line(pending.reason)}"' if pending.reason else ""


def is_editable(proposal: ProposalOpened) -> bool:
    """Return whether the proposal is a text that can be edited."""
    if proposal.server is not None:
        return bool(proposal.name)
    if proposal.plan is not None:
        return True
    if proposal.tool == ENTRY and proposal.after is None:
        return False  # a deletion
    return proposal.path is not None and proposal.tool != "run_command"


def can_be_joined(shown: Shown) -> bool:
    """Return whether both versions of a conflict can be merged by hand in one text."""
    return shown.rebasing is not None and shown.rebasing.merged is not None


def waiting_list(waiting: Sequence[ProposalOpened], at: int, width: int) -> list[tuple[str, bool]]:
    """Return the waiting proposals, as many as fit next to each other; true: the one that is shown."""
    found: list[tuple[str, bool]] = []
    used = 0
    for index, proposal in enumerate(waiting):
        text = listed(proposal)
        more = f"and {len(waiting) - index} more"
        if found and used + len(text) + len(more) + 8 > width:
            return [*found, (more, False)]
        found.append((text, index == at))
        used += len(text) + 4
    return found


def _approve(shown: Shown, pending: PendingDecision) -> str:
    picks = pending.picks
    if shown.proposal.beyond is not None:
        return "allow once"
    if shown.proposal.plan is not None:
        return "accept plan" if pending.edited is None else "accept yours"
    if pending.edited is not None:
        return f"approve {picks.accepted_count} of yours" if picks.skipped_count else "approve yours"
    return f"approve {picks.accepted_count}" if picks.skipped_count else "approve"
