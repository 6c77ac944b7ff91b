"""What a command can see: environment variables, files and sockets."""

from .denied_paths import denied_paths, path_globs
from .environment import OWN_GIT, command_env, left_out
from .hidden_places import HiddenPlaces, HideRules, expanded

__all__ = ["OWN_GIT", "HiddenPlaces", "HideRules", "command_env", "denied_paths", "expanded", "left_out", "path_globs"]
