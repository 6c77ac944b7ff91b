"""The environment variables and the sandbox of a run's commands."""

from .confinement import detect_sandbox, missing_guarantees
from .variables import commands_env, key_names, variables_left_out

__all__ = ["commands_env", "detect_sandbox", "key_names", "missing_guarantees", "variables_left_out"]
