"""Make a message of a prompt (text, mentions of files, embedded texts, images), and send it to the run."""

from __future__ import annotations

import base64
import binascii
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from rundry.agent import ResumeChanges, UserError, mention_of, temp_folder

from ..export.markup import as_fence
from ..start.attach_images import images_of_message

if TYPE_CHECKING:
    from ..control.run_controller import RunController

Block = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
MOST_EMBEDDED = 200_000
"""Maximum number of characters of one embedded text."""
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


@dataclass(slots=True)
class Message:
    """A prompt as the run receives it."""

    text: str = ""
    typed: str = ""
    """The part in which `@` attaches an image: what the person wrote, without the content of files."""
    images: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    """Suffix and bytes of each image in the prompt."""


def message_of(blocks: Sequence[Block], root: Path) -> Message:
    """Return the message. `root`: the workspace. Raises UserError for a part that cannot be sent to a model."""
    message, texts, typed = Message(), list[str](), list[str]()
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                texts.append(text)
                typed.append(text)
            case ResourceContentBlock(uri=uri):
                mention = _mention(uri, root)
                texts.append(mention)
                typed.append(mention)
            case EmbeddedResourceContentBlock(resource=resource):
                if isinstance(resource, BlobResourceContents):
                    message.images.append(_image(resource.blob, resource.mime_type or ""))
                else:
                    texts.append(_embedded(resource.uri, resource.text, root))
            case ImageContentBlock(data=data, mime_type=media):
                message.images.append(_image(data, media))
                texts.append(f"[image {len(message.images)}]")
            case AudioContentBlock():
                raise UserError("audio cannot be sent to a model here: write the message as text")
    message.text, message.typed = _joined(texts), _joined(typed)
    return message


def send(controller: RunController, prompt: Message, wanted: ResumeChanges) -> None:
    """Send a message with its images. `wanted`: what was chosen while the run had no runner. Raises RundryError."""
    if not prompt.text.strip():
        raise UserError("the prompt is empty: write a task or a message")
    with contextlib.ExitStack() as stack:
        typed = [prompt.typed]
        folder = stack.enter_context(temp_folder("edit")) if prompt.images else Path()
        for number, (suffix, data) in enumerate(prompt.images, 1):
            path = folder / f"image-{number}{suffix}"
            path.write_bytes(data)
            typed.append(mention_of(str(path)))
        if controller.status.is_orphaned:
            _resume(controller, prompt.text, " ".join(typed), wanted)
        else:
            controller.send_message(prompt.text, " ".join(typed))


def _resume(controller: RunController, text: str, typed: str, wanted: ResumeChanges) -> None:
    images, blobs = images_of_message(typed, controller.root, controller.state)
    for data in blobs:
        controller.link.store_image(data)
    controller.resume(msgspec.structs.replace(wanted, hint=text, images=images))


def _joined(parts: Sequence[str]) -> str:
    """Join the parts: editors split a sentence at each mention."""
    text = ""
    for part in parts:
        needs_blank = bool(text) and not text[-1].isspace() and bool(part) and not part[0].isspace()
        text += f" {part}" if needs_blank and part[0] not in ".,;:!?)" else part
    return text


def _mention(uri: str, root: Path) -> str:
    path = _path_of(uri)
    if path is None:
        return uri
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    return mention_of(str(inside))


def _path_of(uri: str) -> Path | None:
    """Return the absolute path of a `file:` address or of a plain path, or None for another address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        path = unquote(parts.path)
    elif not parts.scheme:
        path = uri
    else:
        return None
    return Path(path) if path.startswith("/") and "\0" not in path else None


def _embedded(uri: str, text: str, root: Path) -> str:
    if len(text) > MOST_EMBEDDED:
        raise UserError(f"{uri} has {len(text):,} characters: attach at most {MOST_EMBEDDED:,}, or link the file")
    return f"\n\n{_mention(uri, root)} as it is in the editor:\n{as_fence(text, '')}\n\n"


def _image(data: str, media: str) -> tuple[str, bytes]:
    if media not in _SUFFIXES:
        raise UserError(f"an attachment is {media or 'of an unknown type'}: attach PNG, JPEG, GIF or WebP, or link it")
    try:
        return _SUFFIXES[media], base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UserError(f"the data of an attached {media} is not base64: attach it again") from None
