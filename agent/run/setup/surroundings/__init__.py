"""What the commands of a run see of this machine, from the run's spec: environment and sandbox."""

from .confinement import detect_sandbox, missing_guarantees
from .variables import commands_env, key_names, variables_left_out

__all__ = ["commands_env", "detect_sandbox", "key_names", "missing_guarantees", "variables_left_out"]
