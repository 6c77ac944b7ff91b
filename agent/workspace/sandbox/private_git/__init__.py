"""Give sandboxed commands a private git folder, and import their changes into the user's repository."""

from .guard import GitGuard, GitMounts

__all__ = ["GitGuard", "GitMounts"]
