"""What the operating system reports to an event loop."""

from .inotify import Inotify

__all__ = ["Inotify"]
