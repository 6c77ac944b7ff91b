"""Decide whether a file change or a command may happen: proposals, policy and hunks."""

from .change.diff import compare_contents, hunk_text, split_bytes, unified
from .change.hunks import Hunk, Sides, Split, split, take
from .change.rebase import Conflict, fitted, renew
from .draft import CommandDraft, Draft, FileDraft, changed_draft, digest_of, look
from .gate import Gate
from .policy import Standing, Verdict, judge
from .reading import kept_from
from .rule_lint import nonsense
from .rules import rule_text
from .ruling import Ruling

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
