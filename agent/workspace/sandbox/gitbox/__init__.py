"""A private git folder for the commands of a sandbox, and what is imported from it into the user's repository."""

from .guard import GitGuard, GitMounts

__all__ = ["GitGuard", "GitMounts"]
