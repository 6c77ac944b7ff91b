"""Providers that litellm reaches: it builds and signs the request, and where the format is known it is read here."""

from .lane import LitellmLane, close_litellm

__all__ = ["LitellmLane", "close_litellm"]
