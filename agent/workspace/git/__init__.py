"""Record, compare and restore the state of a git repository, and commit passes."""

from .commits import bundle_of, commit_pass
from .locks import LockWatcher, wait_for_locks
from .places import GitPlaces, places_of
from .record import record_state
from .refs import commits_of_head
from .rewind import rewind
from .state import GitState, differences, is_same
from .worktree_refs import drop_refs_made_in

__all__ = [
    "GitPlaces",
    "GitState",
    "LockWatcher",
    "bundle_of",
    "commit_pass",
    "commits_of_head",
    "differences",
    "drop_refs_made_in",
    "is_same",
    "places_of",
    "record_state",
    "rewind",
    "wait_for_locks",
]
