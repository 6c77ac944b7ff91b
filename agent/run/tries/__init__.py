"""Tries of a pass: candidates in worktrees of their own, of which the best one is applied."""

from .candidates import Candidates

__all__ = ["Candidates"]
