"""Decide when a run ends: limits, checks and other predicates, guarded files, and stall detectors."""

from .budget import Exhausted, Grant, Shares, admit, over, replace_budget, share, tighter
from .checks import CheckResult, head_and_tail, run_check
from .counting import Counted, Suspicion, compare, count_failing, count_tests
from .finish import reject_finish
from .guard import Guard, default_guard, guard_of_items
from .margin import Margin
from .predicates import Deeds, judge_file, judge_python, judge_required, judge_schema, require_usable, required_commands
from .quota import Quotas
from .reserve import Reserve, reserve_for
from .stall import Call, Finding, Observation, StallWatch, find_chant, one_spelling
from .verdict import Verdict

__all__ = [
    "Call",
    "CheckResult",
    "Counted",
    "Deeds",
    "Exhausted",
    "Finding",
    "Grant",
    "Guard",
    "Margin",
    "Observation",
    "Quotas",
    "Reserve",
    "Shares",
    "StallWatch",
    "Suspicion",
    "Verdict",
    "admit",
    "compare",
    "count_failing",
    "count_tests",
    "default_guard",
    "find_chant",
    "guard_of_items",
    "head_and_tail",
    "judge_file",
    "judge_python",
    "judge_required",
    "judge_schema",
    "one_spelling",
    "over",
    "reject_finish",
    "replace_budget",
    "require_usable",
    "required_commands",
    "reserve_for",
    "run_check",
    "share",
    "tighter",
]
