"""Success predicates other than a check: a file, a function, a schema of the answer, required actions."""

from .files import judge_file
from .python import judge_python
from .required import RunActions, judge_required, required_commands
from .schema import judge_schema
from .validate_predicates import validate_predicates

__all__ = [
    "RunActions",
    "judge_file",
    "judge_python",
    "judge_required",
    "judge_schema",
    "required_commands",
    "validate_predicates",
]
