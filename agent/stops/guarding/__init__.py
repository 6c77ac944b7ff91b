"""Which files decide a verdict: what a check executes, imports and is configured by (docs/requirements.md 2.3.6)."""

from .depends import Depends, depends_on
from .shadows import Shadows
from .tool_table import check_environment

__all__ = ["Depends", "Shadows", "check_environment", "depends_on"]
