"""Decide whether a file change or a command may happen: proposals, policy and hunks."""

from .change.cuts import Cuts, apply_parts, cut, cut_hunks, finer_cuts
from .change.diff import compare_contents, hunk_text, split_bytes, unified
from .change.hunks import Hunk, Sides, Split, split, take
from .change.merge import merge
from .change.rebase import Conflict, fitted, renew
from .draft import CommandDraft, Draft, FileDraft, changed_draft, digest_of, look
from .gate import Gate
from .policy import PolicyContext, Verdict, judge
from .rule_lint import nonsense
from .rules import kept_from, rule_text
from .ruling import Ruling
from .session_policy import GatedTree, SessionPolicy

__all__ = [
    "CommandDraft",
    "Conflict",
    "Cuts",
    "Draft",
    "FileDraft",
    "Gate",
    "GatedTree",
    "Hunk",
    "PolicyContext",
    "Ruling",
    "SessionPolicy",
    "Sides",
    "Split",
    "Verdict",
    "apply_parts",
    "changed_draft",
    "compare_contents",
    "cut",
    "cut_hunks",
    "digest_of",
    "finer_cuts",
    "fitted",
    "hunk_text",
    "judge",
    "kept_from",
    "look",
    "merge",
    "nonsense",
    "renew",
    "rule_text",
    "split",
    "split_bytes",
    "take",
    "unified",
]
