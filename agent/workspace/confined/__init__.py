"""What commands get of the user's surroundings: variables, places, sockets."""

from .environment import OWN_GIT, command_env, left_out

__all__ = ["OWN_GIT", "command_env", "left_out"]
