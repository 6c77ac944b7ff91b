"""Success that is not a check command: a file, a function, the final answer's shape, actions that happened."""

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
