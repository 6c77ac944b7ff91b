"""The worktrees of a migration with `--parallel`, and the merge of their changes with the run's tree."""

from .trees import Worktrees

__all__ = ["Worktrees"]
