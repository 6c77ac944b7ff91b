"""Find the files that decide a verdict: code that a check executes or imports, and its configuration
(docs/requirements.md 2.3.6).
"""

from .depends import Dependencies, depends_on
from .shadows import Shadows
from .tool_table import check_environment

__all__ = ["Dependencies", "Shadows", "check_environment", "depends_on"]
