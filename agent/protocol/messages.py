"""The conversation as every provider understands it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class ToolCall(msgspec.Struct, frozen=True):
    call_id: str
    """Made by us; unique in the run."""
    tool: str
    arguments: str
    """The JSON text as the model wrote it; it may be broken."""


class Opaque(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of an answer that only its maker can read: signatures, encrypted or structured reasoning."""

    maker: str
    """The provider and, at a gateway, whose model it is. Nobody else gets the parts back."""
    data: dict[str, Any]
    """JSON in the form of the maker's wire format."""


class OpaqueRef(msgspec.Struct, frozen=True, kw_only=True):
    """Where the journal keeps the opaque parts of a message."""

    maker: str
    sha: str
    """Blob of the data as JSON."""
    tokens: int = 0
    """What they add to a prompt, by our own count."""


class ImageRef(msgspec.Struct, frozen=True, kw_only=True):
    """An image that the person attached to a message."""

    sha: str
    """Blob of the file's bytes."""
    media: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    name: str = ""
    width: int = 0
    height: int = 0
    """Pixels; 0: not known."""
    size: int = 0
    """Bytes."""

    @property
    def label(self) -> str:
        """A line that stands for it: `[image shot.png, 800x600]`. The name is as the file system gave it."""
        return f"[image {self.name}, {self.width}x{self.height}]"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: list[ToolCall] = []
    """Of an assistant message."""
    call_id: str | None = None
    """Of a tool message: the call that it answers."""
    opaque: OpaqueRef | None = None
    """Of an assistant message."""
    images: list[ImageRef] = []
    """Of a user message."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as it is offered to the model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of type object."""
