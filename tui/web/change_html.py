"""What a proposal would do, as lines of HTML in parts. Nothing is left out: what is too long is not approved here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rundry.agent import RundryError, along_lines, entry_change, entry_counts, entry_facts, entry_name, entry_notes

from ..diff.contents import diff_of
from ..export.page.diffs import diff_lines_html
from ..export.page.page_text import escaped
from ..gate.proposal_words import body
from ..text.show_text import one_line, path_line

if TYPE_CHECKING:
    from rundry.agent import EffectEntry, ProposalOpened

Content = Callable[[str | None], bytes | None]
"""Returns the bytes of a blob. Raises RundryError if the journal does not have it."""
PART_LINES, PART_CHARS = 400, 60_000
"""Lines and characters of HTML after which a new part begins."""
MOST_CHARS = 2_000_000
"""Characters of HTML above which a change is too long to be approved on a device."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a proposal would do."""

    parts: tuple[str, ...]
    """HTML for `pre` elements of the class `diff`, at least one."""
    is_cut: bool = False
    """It is longer than what is shown."""


def change_of(opened: ProposalOpened, content: Content) -> Change:
    """Return what a proposal would do. Raises RundryError if the journal does not have all of it."""
    parts, lines, length, total = list[str](), list[str](), 0, 0
    for line in _lines(opened, content):
        if lines and (len(lines) >= PART_LINES or length + len(line) > PART_CHARS):
            parts.append("".join(lines))
            lines, length = list[str](), 0
        total += len(line)
        if total > MOST_CHARS:
            return Change((*parts, "".join(lines)), is_cut=True)
        lines.append(line)
        length += len(line)
    return Change((*parts, "".join(lines)))


def _lines(opened: ProposalOpened, content: Content) -> Iterator[str]:
    if opened.effects is not None:
        for entry in opened.effects.entries:
            yield from _entry(entry, content)
        yield from (_note(line) for line in along_lines(opened.effects))
    elif opened.path is not None:
        if opened.before is None and opened.after is None:
            raise RundryError("the journal does not have this change")
        yield from diff_lines_html(diff_of(opened.path, content(opened.before), content(opened.after)))
    else:
        yield from (f'<div><span class="t">{escaped(line)}</span></div>' for line in body(opened).split("\n"))


def _entry(entry: EffectEntry, content: Content) -> Iterator[str]:
    """Yield one entry of what a command would change: its name, what it is, why it asks, and its diff."""
    facts = ", ".join(word for word in (entry_change(entry), entry_counts(entry), *entry_facts(entry)) if word)
    yield f'<div class="f"><b>{escaped(path_line(entry_name(entry)))}</b> <span>{escaped(one_line(facts))}</span></div>'
    yield from (_note(line) for line in entry.lines)
    yield from (f'<div class="h w">{escaped(one_line(note))}</div>' for note in entry_notes(entry))
    if entry.is_text:
        yield from diff_lines_html(diff_of(entry.path, content(entry.before), content(entry.after)))


def _note(line: str) -> str:
    return f'<div class="h">{escaped(one_line(line))}</div>'
