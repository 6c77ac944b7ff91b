"""Decide when a run ends: limits, checks and other predicates, guarded files, and stall detectors."""

from .budget import Exhausted, Grant, Shares, admit, over, replace_budget, share, tighter
from .checks import CheckResult, head_and_tail, run_check
from .counting import Counted, Suspicion, compare, count_failing, count_tests
from .finish import reject_finish
from .guard import Guard, default_guard, guard_of_items
from .margin import Margin
from .predicates import (
    RunActions,
    judge_file,
    judge_python,
    judge_required,
    judge_schema,
    required_commands,
    validate_predicates,
)
from .quota import Quotas
from .reserve import Reserve, reserve_for
from .stall import Call, Finding, Observation, StallWatch, find_repetition, normalise_paths
from .verdict import Verdict

__all__ = [
    "Call",
    "CheckResult",
    "Counted",
    "Exhausted",
    "Finding",
    "Grant",
    "Guard",
    "Margin",
    "Observation",
    "Quotas",
    "Reserve",
    "RunActions",
    "Shares",
    "StallWatch",
    "Suspicion",
    "Verdict",
    "admit",
    "compare",
    "count_failing",
    "count_tests",
    "default_guard",
    "find_repetition",
    "guard_of_items",
    "head_and_tail",
    "judge_file",
    "judge_python",
    "judge_required",
    "judge_schema",
    "normalise_paths",
    "over",
    "reject_finish",
    "replace_budget",
    "required_commands",
    "reserve_for",
    "run_check",
    "share",
    "tighter",
    "validate_predicates",
]
