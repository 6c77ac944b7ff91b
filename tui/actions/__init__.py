"""Every user action: its key, palette entry and slash command. Does not import textual."""

from .action import Action, Place
from .lookup import ACTIONS, BY_NAME, READ_ONLY_ACTIONS, actions_of, keys_of, parse_slash, shown_key, slash_commands

__all__ = [
    "ACTIONS",
    "BY_NAME",
    "READ_ONLY_ACTIONS",
    "Action",
    "Place",
    "actions_of",
    "keys_of",
    "parse_slash",
    "shown_key",
    "slash_commands",
]
