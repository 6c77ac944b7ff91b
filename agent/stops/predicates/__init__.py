"""Success predicates other than a check: a file, a function, a schema of the answer, required actions."""

from .files import judge_file
from .python import judge_python
from .required import Deeds, judge_required, required_commands
from .schema import judge_schema
from .usable import require_usable

__all__ = [
    "Deeds",
    "judge_file",
    "judge_python",
    "judge_required",
    "judge_schema",
    "require_usable",
    "required_commands",
]
