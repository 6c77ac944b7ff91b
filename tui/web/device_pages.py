"""The pages for a paired device, as HTML without scripts. Pure functions: every text is escaped here."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import SHORT_DIGEST

from ..export.page.frame import style_sheet
from ..export.page.page_text import escaped
from ..gate.pending_decision import PendingDecision
from ..gate.proposal_words import about, name, notes
from ..keys.keymap import Keymap
from ..text.show_text import one_line

if TYPE_CHECKING:
    from rundry.agent import ProposalOpened

    from .change_html import Change
    from .waiting_proposals import Waiting, WaitingRun

REFRESH_SECONDS = 10
"""Seconds after which a list loads itself again."""
TASK_CHARS = 600
"""Characters of a task that are sent; a note has the number of the others."""
SELF_SIGNED = (
    "The certificate is self-signed: your browser cannot tell this computer from another one in between. Compare the "
    "fingerprint that your browser shows with the one in the terminal; another computer could change this page."
)
RESTRICTED = "Look and reject only: the certificate is self-signed"
TO_APPROVE = "To approve, use a certificate of your own, or start the command with --accept-self-signed."


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page shows."""

    place: str
    """Name of the folder."""
    device: str
    """Name of the paired device."""
    base: str
    """Path of the list."""
    until: str
    """Local time at which the server ends."""
    fingerprint: str
    self_signed: bool
    restricted: bool
    """Nothing can be approved: the certificate is self-signed."""


@dataclass(slots=True)
class Decided:
    """A decision that was made on the device, for the list."""

    at: str
    """Local time."""
    what: str
    """`approved edit till/money.py`."""
    result: str = "is being recorded"
    is_good: bool | None = None
    """None means that it is not known yet."""


def policy() -> str:
    """Return the content security policy: nothing is loaded, nothing runs, only this style sheet applies."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    own = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    return f"{own}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


@cache
def _style() -> str:
    return style_sheet() + Path(__file__).with_name("device.css").read_text("utf-8")


def _page(title: str, *content: str, refresh: int | None = None) -> str:
    again = f'<meta http-equiv="refresh" content="{refresh}">' if refresh is not None else ""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">{again}'
    styled = f'<title>{escaped(title)}</title><link rel="icon" href="data:,"><style>{_style()}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}{styled}</head><body>{"".join(content)}</body></html>'


def _text(text: str, most: int = 300) -> str:
    """Return foreign text in one line, cut with a note."""
    line = one_line(" ".join(text.split()))
    return escaped(line if len(line) <= most else f"{line[:most]}… ({len(line) - most} more characters)")


def message_page(text: str, back: str | None = None) -> str:
    """Return a page that says one thing. `back`: path of the list, for a paired device."""
    link = "" if back is None else f'<p><a class="back" href="{escaped(back)}">Show what waits</a></p>'
    return _page("rundry", "<header>rundry</header>", f'<p class="note">{escaped(one_line(text))}</p>', link)


def link_page(fingerprint: str, *, self_signed: bool) -> str:
    """Return the page behind the link. It says nothing about the folder: a program that makes previews reads it."""
    note = f'<p class="note">{escaped(SELF_SIGNED)}</p>' if self_signed else ""
    return _page(
        "rundry: pair this device",
        "<header>rundry</header><h1>Pair this device</h1>",
        "<p>It can then see and decide what waits for approval. The link pairs one device.</p>",
        note,
        f'<p class="dim">Certificate, SHA-256</p>{_fingerprint(fingerprint)}',
        '<form method="post"><label for="name">Name of this device, for the journal</label>',
        '<input id="name" name="name" value="phone" maxlength="30" autocomplete="off">',
        '<div class="buttons"><button class="yes">Pair</button></div></form>',
    )


def _fingerprint(fingerprint: str) -> str:
    """Return the bytes in groups of eight, which break only between groups."""
    every = fingerprint.split(":")
    groups = (":".join(every[at : at + 8]) for at in range(0, len(every), 8))
    return f'<p class="mono print">{" ".join(f"<span>{escaped(group)}</span>" for group in groups)}</p>'


def list_page(frame: Frame, runs: Sequence[WaitingRun], decided: Sequence[Decided]) -> str:
    """Return the list of everything that waits."""
    count = sum(len(run.proposals) for run in runs)
    return _page(
        f"{count} waiting: {one_line(frame.place)}" if count else f"rundry: {one_line(frame.place)}",
        _header(frame, f"rundry · {_text(frame.place, 60)}"),
        _restricted(frame),
        *(_run(frame, run) for run in runs),
        "" if runs else "<h1>Nothing waits</h1>",
        _decisions(decided),
        f'<p class="dim">Loads again every {REFRESH_SECONDS} s, until {escaped(frame.until)}.</p>',
        refresh=REFRESH_SECONDS,
    )


def _header(frame: Frame, left: str) -> str:
    return f"<header><span>{left}</span><span>{escaped(frame.device)}</span></header>"


def _restricted(frame: Frame) -> str:
    if not frame.restricted:
        return ""
    more = f"<p>{escaped(SELF_SIGNED)} {escaped(TO_APPROVE)}</p>{_fingerprint(frame.fingerprint)}"
    return f'<details class="note"><summary>{escaped(RESTRICTED)}</summary>{more}</details>'


def _run(frame: Frame, run: WaitingRun) -> str:
    facts = [run.spent, "waits at the gate" if run.is_live else "a decision resumes it"]
    found = [f'<h2 class="short">{_text(run.task, TASK_CHARS)}</h2>', f'<div class="dim">{_facts(facts)}</div>']
    if run.needs:
        found.append(f'<p class="note">{_text(run.needs.rstrip("."))}. This is done at the computer.</p>')
    if run.proposals:
        found += ["<ul>", *(_row(frame, run, opened) for opened in run.proposals), "</ul>"]
    return "".join(found)


def _facts(facts: Sequence[str]) -> str:
    return escaped(" · ".join(one_line(fact) for fact in facts if fact))


def _row(frame: Frame, run: WaitingRun, opened: ProposalOpened) -> str:
    counts = f'<span class="counts">+{opened.added} −{opened.removed}</span>' if opened.added or opened.removed else ""
    why = _text(opened.asks[0], 120) if opened.asks else ""
    place = escaped(f"{frame.base}p/{run.run_id}/{opened.digest}")
    return f'<li><a href="{place}">{counts}<b>{_text(_listed(opened), 160)}</b><div class="dim">{why}</div></a></li>'


def _listed(opened: ProposalOpened) -> str:
    return name(opened) if opened.command is None or opened.path is not None else f"run {opened.command}"


def _decisions(decided: Sequence[Decided]) -> str:
    if not decided:
        return ""
    classes = {True: "good", False: "bad", None: "dim"}
    rows = (
        f"<li>{escaped(one.at)} {_text(one.what, 160)} "
        f'<span class="{classes[one.is_good]}">{_text(one.result)}</span></li>'
        for one in decided
    )
    return f'<h2>Decided here</h2><ul class="done">{"".join(rows)}</ul>'


def proposal_page(
    frame: Frame, waiting: Waiting, change: Change, part: int, seen: set[int], *, token: str, why_not: str
) -> str:
    """Return one part of a proposal, with the form for its decision.

    `seen`: the parts that were sent so far, with this one. `why_not`: why it cannot be approved here.
    """
    opened, count = waiting.opened, len(change.parts)
    unseen = [other for other in range(count) if other not in seen]
    place = escaped(f"{frame.base}p/{waiting.run}/{opened.digest}")
    ways = _parts(place, part, count, unseen)
    return _page(
        f"{name(opened)}",
        _header(frame, f'<a href="{escaped(frame.base)}">‹ All that waits</a>'),
        f"<h1>{_text(name(opened), 400)}</h1>",
        f'<div class="dim">{_facts([_about(opened), f"digest {opened.digest[:SHORT_DIGEST]}"])}</div>',
        f'<div class="dim short">Task: {_text(waiting.task, TASK_CHARS)}</div>',
        *_notes(waiting),
        ways,
        f'<pre class="diff">{change.parts[part]}</pre>',
        ways,
        _form(place, token, why_not, unseen),
    )


def _about(opened: ProposalOpened) -> str:
    made = f", made by {one_line(opened.effects.command)[:200]}" if opened.effects and opened.effects.command else ""
    return f"{' '.join(about(opened).split())}{made}"


def _notes(waiting: Waiting) -> Iterator[str]:
    if waiting.conflict:
        yield f'<p class="note bad">In conflict with its file: {_text(waiting.conflict)}</p>'
    found = notes(waiting.opened, None, PendingDecision(), Keymap({}), explained=True, is_tight=False, acts=False)
    for line, is_danger in found:
        yield f'<div class="{"note bad" if is_danger else "dim"}">{_text(line, 1_000)}</div>'


def _parts(place: str, part: int, count: int, unseen: Sequence[int]) -> str:
    if count == 1:
        return ""
    before = f'<a href="{place}?part={part}">‹ Part {part}</a>' if part else "<span></span>"
    after = f'<a href="{place}?part={part + 2}">Part {part + 2} ›</a>' if part + 1 < count else "<span></span>"
    left = f", {len(unseen)} not opened yet" if unseen else ""
    return f'<nav class="parts">{before}<span class="dim">Part {part + 1} of {count}{left}</span>{after}</nav>'


def _form(place: str, token: str, why_not: str, unseen: Sequence[int]) -> str:
    yes = '<button class="yes" name="verdict" value="approve">Approve</button>'
    note = ""
    if why_not:
        yes, note = "", f'<p class="note">Not approved here: {escaped(one_line(why_not))}.</p>'
    elif unseen:
        yes = f'<a class="next" href="{place}?part={unseen[0] + 1}">Open part {unseen[0] + 1}</a>'
        note = '<p class="dim">Approve appears once all parts were opened.</p>'
    return (
        f'{note}<form method="post" action="{place}"><input type="hidden" name="token" value="{escaped(token)}">'
        '<label for="reason">Reason, for the model (optional)</label>'
        '<textarea id="reason" name="reason" rows="2" maxlength="1000"></textarea>'
        f'<div class="buttons"><button class="no" name="verdict" value="reject">Reject</button>{yes}</div></form>'
    )
