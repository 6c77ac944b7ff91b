"""What a command can see: environment variables, files and sockets."""

from .denied_paths import denied_paths, path_globs
from .environment import OWN_GIT, command_env, omitted_variables
from .hidden_places import HiddenPlaces, HideRules, expand_home

__all__ = [
    "OWN_GIT",
    "HiddenPlaces",
    "HideRules",
    "command_env",
    "denied_paths",
    "expand_home",
    "omitted_variables",
    "path_globs",
]
