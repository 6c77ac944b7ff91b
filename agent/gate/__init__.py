"""Decide whether a file change or a command may happen: proposals, policy and hunks."""

from .change.cuts import Cuts, apply_parts, cut, cut_hunks, finer_cuts
from .change.diff import compare_contents, hunk_text, split_bytes, unified
from .change.hunks import Hunk, Sides, Split, apply_hunks, split
from .change.merge import merge
from .change.rebase import Conflict, rebase_draft, with_approved_bytes
from .draft import CommandDraft, Draft, FileDraft, McpDraft, changed_draft, digest_of, read_file_state
from .gate import Gate
from .policy import PolicyContext, Verdict, judge
from .rule_lint import rule_problem
from .rules import denial_of, rule_text
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
    "McpDraft",
    "PolicyContext",
    "Ruling",
    "SessionPolicy",
    "Sides",
    "Split",
    "Verdict",
    "apply_hunks",
    "apply_parts",
    "changed_draft",
    "compare_contents",
    "cut",
    "cut_hunks",
    "denial_of",
    "digest_of",
    "finer_cuts",
    "hunk_text",
    "judge",
    "merge",
    "read_file_state",
    "rebase_draft",
    "rule_problem",
    "rule_text",
    "split",
    "split_bytes",
    "unified",
    "with_approved_bytes",
]
