"""Make the journal events of a proposal: opened, rebased or in conflict, decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..protocol import CommandEffects, EntryDecided, ProposalDecided, ProposalOpened, ProposalRebased
from ..protocol.text.counts import plural
from .draft import CommandDraft, Draft, EffectsDraft, FileDraft, McpDraft, PlanDraft, WebDraft
from .rules import rule_text
from .text_diff import split_bytes, unified

if TYPE_CHECKING:
    from ..journal.blobs import Blobs
    from ..protocol.text.hunks import Split
    from .policy import Verdict
    from .rebase import Conflict
    from .ruling import EntryRuling, Ruling

Place = tuple[int, int]
"""Number of a file, from 1, among those that one answer of the model changes, and how many these are."""
SINGLE_FILE: Place = (0, 0)
"""The place of the only file that an answer changes."""
_MOST_DIFF = 100_000
"""Characters of the diff of what a command would change in the event; the screen shows all from the blobs."""


def opened(
    draft: Draft,
    verdict: Verdict,
    parts: Split | None,
    blobs: Blobs,
    *,
    proposal_id: str,
    call_id: str,
    digest: str,
    sandbox: str | None,
    who: str = "",
    place: Place = SINGLE_FILE,
) -> ProposalOpened:
    """Return the event of a new proposal: one that waits, or one that the policy decides immediately."""
    is_asking, (file, files) = verdict.action == "ask", place
    rules = [rule_text(rule) for rule in verdict.offer.rules]
    common = ProposalOpened(
        proposal_id=proposal_id,
        tool=draft.tool,
        digest=digest,
        call_id=call_id,
        asks=[*verdict.why, *_form(draft)] if is_asking else [],
        needs=verdict.needs if is_asking else [],
        danger=verdict.danger,
        rule=rules[0] if len(rules) == 1 else None,
        rules=rules,
        prefixes=[rule_text(rule) for rule in verdict.offer.prefixes],
        who=who,
        file=file,
        files=files,
    )
    if isinstance(draft, CommandDraft):
        return _command(common, draft, sandbox)
    if isinstance(draft, McpDraft):
        return _call(common, draft, blobs)
    if isinstance(draft, EffectsDraft):
        return _effects(common, draft)
    if isinstance(draft, PlanDraft):
        return msgspec.structs.replace(common, plan=draft.text, after=blobs.keep(draft.text.encode()))
    if isinstance(draft, WebDraft):
        return msgspec.structs.replace(common, url=draft.url, host=draft.host, query=draft.query or None)
    return msgspec.structs.replace(
        common,
        path=draft.path,
        diff=unified(draft.path, draft.before, draft.after, parts),
        before=_before(draft, blobs),
        after=None if draft.after is None else blobs.keep(draft.after),
        **_sizes(parts),
    )


def _command(common: ProposalOpened, draft: CommandDraft, sandbox: str | None) -> ProposalOpened:
    how = {"cwd": str(draft.cwd), "sandbox": sandbox, "beyond": draft.beyond}
    return msgspec.structs.replace(common, command=draft.command, is_outside=draft.unsandboxed, **how)


def _call(common: ProposalOpened, draft: McpDraft, blobs: Blobs) -> ProposalOpened:
    after = blobs.keep(draft.arguments.encode())
    return msgspec.structs.replace(common, server=draft.server, call=draft.arguments, name=draft.name, after=after)


def _effects(common: ProposalOpened, draft: EffectsDraft) -> ProposalOpened:
    entries = [entry.shown for entry in draft.entries]
    diff, length = list[str](), 0
    for at, entry in enumerate(draft.entries):
        if length > _MOST_DIFF:
            diff.append(f"# {plural(len(entries) - at, 'more entry')} not shown here\n")
            break
        if entry.before is not None:
            diff.append(unified(entry.shown.path, entry.before, entry.after, split_bytes(entry.before, entry.after)))
            length += len(diff[-1])
    return msgspec.structs.replace(
        common,
        diff="".join(diff),
        hunks=sum(entry.hunks for entry in entries),
        added=sum(entry.added for entry in entries),
        removed=sum(entry.removed for entry in entries),
        effects=CommandEffects(
            command=draft.command,
            heading=draft.heading,
            entries=entries,
            along=draft.along,
            along_waits=draft.along_waits,
            never=draft.never,
        ),
    )


def rebased(
    draft: FileDraft,
    parts: Split | None,
    blobs: Blobs,
    *,
    proposal_id: str,
    digest: str,
    why: str,
) -> ProposalRebased:
    """Return the event of a proposal that was planned again on the file's current content."""
    return ProposalRebased(
        proposal_id=proposal_id,
        diff=unified(draft.path, draft.before, draft.after, parts),
        digest=digest,
        before=_before(draft, blobs),
        after=None if draft.after is None else blobs.keep(draft.after),
        why=why,
        hunks=len(parts.hunks) if parts else 0,
        added=parts.added if parts else 0,
        removed=parts.removed if parts else 0,
    )


def in_conflict(
    draft: FileDraft, conflict: Conflict, blobs: Blobs, *, proposal_id: str, digest: str, why: str
) -> ProposalRebased:
    """Return the event of a conflict, with the diff from the file on disk to the proposal and the merged text."""
    absent = msgspec.structs.replace(draft.before, exists=False, data=b"", size=0, is_binary=False)
    there = msgspec.structs.replace(draft, before=conflict.now or absent)
    parts = split_bytes(there.before, draft.after)
    event = rebased(there, parts, blobs, proposal_id=proposal_id, digest=digest, why=why)
    merged = None if conflict.merged is None else blobs.keep(conflict.merged)
    return msgspec.structs.replace(event, conflict=True, merged=merged)


def decided(proposal_id: str, ruling: Ruling, blobs: Blobs) -> ProposalDecided:
    """Return the event of the decision on a proposal."""
    is_own = ruling.approved and _is_own(ruling)
    is_whole = ruling.accepted is None and not ruling.entries
    decision = "reject" if not ruling.approved else "approve" if is_whole else "part"
    return ProposalDecided(
        proposal_id=proposal_id,
        decision=decision,
        by=ruling.by,
        reason=ruling.reason,
        rule=ruling.rules[0] if len(ruling.rules) == 1 else None,
        rules=ruling.rules,
        taken=ruling.accepted,
        left=ruling.left,
        cuts=ruling.cuts,
        after=blobs.keep(ruling.after) if is_own and ruling.after is not None else None,
        entries={at: _entry(one, blobs) for at, one in ruling.entries.items()},
        channel=ruling.channel,
    )


def _entry(ruling: EntryRuling, blobs: Blobs) -> EntryDecided:
    return EntryDecided(
        skipped=ruling.skipped,
        taken=ruling.accepted,
        left=ruling.left,
        cuts=ruling.cuts,
        after=None if ruling.after is None else blobs.keep(ruling.after),
        edited=ruling.edited,
        reason=ruling.reason,
    )


def _is_own(ruling: Ruling) -> bool:
    """Return whether other bytes were approved than were proposed."""
    draft = ruling.draft
    if isinstance(draft, McpDraft):
        return ruling.after is not None and ruling.after != draft.arguments.encode()
    if isinstance(draft, PlanDraft):
        return ruling.after is not None and ruling.after != draft.text.encode()
    return isinstance(draft, FileDraft) and ruling.after not in (None, draft.after)


def _sizes(parts: Split | None) -> dict[str, int]:
    if parts is None:
        return {}
    return {"hunks": len(parts.hunks), "added": parts.added, "removed": parts.removed}


def _form(draft: Draft) -> list[str]:
    """Note an encoding that most files do not have."""
    if not isinstance(draft, FileDraft) or not draft.before.exists or draft.before.encoding in ("utf-8", ""):
        return []
    return [f"the file is {draft.before.encoding}, not UTF-8, and keeps this encoding"]


def _before(draft: FileDraft, blobs: Blobs) -> str | None:
    return blobs.keep(draft.before.data) if draft.before.exists else None
