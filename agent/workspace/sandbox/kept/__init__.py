"""Keep places of the workspace as they are, for a sandbox that cannot keep commands from them."""

from .copies import Copies
from .other_names import HiddenNames
from .put_back import KeptPlaces, Protected, moved_aside

__all__ = ["Copies", "HiddenNames", "KeptPlaces", "Protected", "moved_aside"]
