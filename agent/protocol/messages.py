"""Conversation messages in a form that is independent of the provider."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ImageMedia = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class SeenContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the model sees of a file with a tool result (decisions/0043, 3)."""

    path: str
    """Relative to the workspace, with links followed."""
    digest: str
    """SHA-256 of the file's bytes."""
    first: int = 1
    last: int = 0
    """The lines from `first` to `last`, from 1. None are shown if `last` is smaller."""
    of: int = 0
    """Number of lines of the file."""
    base: str = ""
    """SHA-256 of the bytes before an edit: the lines are seen only if all of those were. Empty means that they are."""


class ToolCall(msgspec.Struct, frozen=True):
    call_id: str
    """Id assigned by this program; unique in the run."""
    tool: str
    arguments: str
    """The JSON text as the model wrote it; it may be invalid."""
    from_text: bool = False
    """The program made it of code in a chat's answer: a person decides in every mode of the gate."""
    seen: SeenContent | None = None
    """The content of the file for which a file format made it."""


class Opaque(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of an answer that only the model's provider can read: signatures, encrypted or structured reasoning."""

    maker: str
    """The provider and, for a gateway, the vendor of the model. The parts are sent back only to it."""
    data: dict[str, Any]
    """JSON in the provider's wire format."""


class OpaqueRef(msgspec.Struct, frozen=True, kw_only=True):
    """Reference to the opaque parts of a message in the journal."""

    maker: str
    sha: str
    """Digest of the blob that contains the data as JSON."""
    tokens: int = 0
    """Tokens that they add to a prompt, as counted by this program."""


class ImageRef(msgspec.Struct, frozen=True, kw_only=True):
    """An image that the person attached to a message, or that a result of an MCP server has."""

    sha: str
    """Digest of the blob that contains the file."""
    media: ImageMedia
    name: str = ""
    width: int = 0
    height: int = 0
    """Height in pixels, or 0 if unknown."""
    size: int = 0
    """Size in bytes."""

    @property
    def label(self) -> str:
        """A line of text that replaces the image: `[image shot.png, 800x600]`. The name is unchanged."""
        return f"[image {self.name}, {self.width}x{self.height}]"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: list[ToolCall] = []
    """Tool calls, in an assistant message."""
    call_id: str | None = None
    """In a tool message: the call that it answers."""
    opaque: OpaqueRef | None = None
    """Opaque parts, in an assistant message."""
    images: list[ImageRef] = []
    """Attached images, in a user message, and the images of results until all results of the answer are there."""
    path: str = ""
    """The file that this user message shows. Empty means that it is another message."""
    seen: list[SeenContent] = []
    """What it shows of files, or what the call of this result wrote."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as offered to the model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of type object."""
