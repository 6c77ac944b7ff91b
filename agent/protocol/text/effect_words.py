"""What a command would change, in words: the same on the screen, in plain output, in editors and in reports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .counts import plural
from .path_text import quoted_path

if TYPE_CHECKING:
    from ..effects import CommandEffects, EffectEntry

_CHANGES = {"added": "new", "changed": "changed", "deleted": "deleted"}
_UNITS = ("bytes", "kB", "MB", "GB")
_STORED_BYTE = re.compile(r"\\x([89a-f][0-9a-f])")
"""A byte of a path that is not UTF-8, as an entry has it."""


def effects_title(effects: CommandEffects) -> str:
    """Return what the proposal is about, without its command: `3 files, an install, git`."""
    files = sum(entry.count for entry in effects.entries if entry.kind not in ("git", "install"))
    installs = sum(entry.kind == "install" for entry in effects.entries)
    words = [plural(files, "file") if files else "", plural(installs, "install") if installs else ""]
    words.append("git" if any(entry.kind == "git" for entry in effects.entries) else "")
    return ", ".join(word for word in words if word)


def entry_name(entry: EffectEntry) -> str:
    """Return the name of an entry: its path, `git`, or `.` for the workspace itself."""
    if entry.kind == "git":
        return f"git in {_quoted(entry.path)}" if entry.path else "git"
    slash = "/" if entry.kind in ("folder", "install", "tree") else ""
    return f"{_quoted(entry.path)}{slash}" if entry.path else "."


def _quoted(path: str) -> str:
    """Return a path of an entry as git writes it, so that it looks the same wherever it is named."""
    return quoted_path(_STORED_BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), path))


def entry_change(entry: EffectEntry) -> str:
    """Return what happens to the entry in one word: `new`, `changed`, `deleted`, `install`; empty for git."""
    if entry.kind in ("install", "git"):
        return "install" if entry.kind == "install" else ""
    return _CHANGES[entry.change]


def entry_counts(entry: EffectEntry) -> str:
    """Return `+12 −4` for a text, else an empty string."""
    if not entry.is_text:
        return ""
    return " ".join([*([f"+{entry.added}"] if entry.added else []), *([f"−{entry.removed}"] if entry.removed else [])])


def entry_facts(entry: EffectEntry) -> list[str]:
    """Return what else there is to say in a few words each: a link's target, sizes, the execute bit, counts."""
    found = list[str]()
    match entry.kind:
        case "link":
            found.append(f"link to {_quoted(entry.target)}" if entry.target else "link")
        case "folder":
            found.append("empty folder" if entry.count == 1 else plural(entry.count, "empty folder"))
        case "install" | "tree":
            found += [plural(entry.count, "file"), *entry.lines[:1], *([size_words(entry.size)] if entry.size else [])]
        case "git":
            found += [line for line in entry.lines if not line.startswith(" ")]
        case "file":
            found += _sizes(entry)
    if entry.mode:
        found.append(entry.mode)
    if entry.no_undo:
        found.append("cannot be undone")
    return found


def _sizes(entry: EffectEntry) -> list[str]:
    if entry.is_text:
        return [] if entry.added or entry.removed or entry.mode else ["empty"]
    if entry.size == entry.size_before and entry.mode:
        return []
    before, after = size_words(entry.size_before), size_words(entry.size)
    if entry.change == "changed":
        return [f"not text, {before} → {after}" if before != after else f"not text, {after}"]
    return [f"not text, {before if entry.change == 'deleted' else after}"]


def entry_notes(entry: EffectEntry) -> list[str]:
    """Return why an entry asks, or why it cannot be accepted, one line for each reason."""
    return [f"conflict: {entry.conflict}", *entry.why] if entry.conflict else list(entry.why)


def effect_lines(effects: CommandEffects) -> list[str]:
    """Return one line for each entry, with its reasons and its commits below it, and one for what goes along."""
    found = list[str]()
    for entry in effects.entries:
        words = [entry_change(entry), entry_name(entry), entry_counts(entry)]
        facts = ", ".join(entry_facts(entry))
        if entry.kind == "git":
            found.append(entry_name(entry))
            found += [f"    {line}" for line in entry.lines]
        else:
            found.append(" ".join(word for word in words if word) + (f" ({facts})" if facts else ""))
            found += [f"    {line}" for line in entry.lines[1:]]
        found += [f"    asks: {note}" if not entry.conflict else f"    {note}" for note in entry_notes(entry)]
    return [*found, *along_lines(effects)]


def along_lines(effects: CommandEffects) -> list[str]:
    """Return a line about what is applied without a choice, and one about what is dropped in every case."""
    lines = list[str]()
    if effects.along:
        lines.append(f"{'with it' if effects.along_waits else 'applied without a question'}: {effects.along}")
    if effects.never:
        lines.append(f"never applied: {effects.never}")
    return lines


def size_words(size: int) -> str:
    """Return a number of bytes in short: `812 bytes`, `8.1 kB`, `2.3 MB`."""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if not unit:
        return plural(size, "byte")
    return f"{value:.1f} {_UNITS[unit]}" if value < 99.5 else f"{value:.0f} {_UNITS[unit]}"
