"""Proposals, policy and hunks: nothing changes and no command runs before it passed here."""

from .diff import compare_contents, hunk_text, split_bytes, unified
from .draft import CommandDraft, Draft, FileDraft, changed_draft, digest_of, look
from .gate import Gate
from .hunks import Hunk, Sides, Split, split, take
from .policy import Standing, Verdict, judge
from .reading import kept_from
from .renew import Conflict, fitted, renew
from .rules import rule_text
from .ruling import Ruling
from .sense import nonsense

__all__ = [
    "CommandDraft",
    "Conflict",
    "Draft",
    "FileDraft",
    "Gate",
    "Hunk",
    "Ruling",
    "Sides",
    "Split",
    "Standing",
    "Verdict",
    "changed_draft",
    "compare_contents",
    "digest_of",
    "fitted",
    "hunk_text",
    "judge",
    "kept_from",
    "look",
    "nonsense",
    "renew",
    "rule_text",
    "split",
    "split_bytes",
    "take",
    "unified",
]
