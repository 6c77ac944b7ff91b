"""Connect to providers through litellm: it builds and signs the request, and known formats are read here."""

from .lane import LitellmLane, close_litellm

__all__ = ["LitellmLane", "close_litellm"]
