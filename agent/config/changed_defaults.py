"""Tell a user once that an update changed a default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .folders import Store, user_folder

GATE_IS_EFFECTS = "gate.mode: effects"
"""The screen's gate begins in `effects` where commands run in layers, and not in `ask`."""


def is_new_to_user(change: str, runs: Path, env: Mapping[str, str]) -> bool:
    """Return whether the user worked with the old default and was not told about the change; note that they are now.

    `runs`: the folder of the journals. Raises ConfigError if this cannot be stored.
    """
    store = Store(user_folder("data", env) / "changed-defaults.json", bool, again="start rundry again")
    if change in store.load():
        return False
    store.add({change: True})
    return any(runs.glob("*.db"))
