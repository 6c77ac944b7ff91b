"""Read the images that a message names: regular files within the size limit that contain an image."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.plain_files import reader_of
from ...host.protected_names import why_forbidden
from ...host.real_paths import real_path
from ...protocol import ImageRef, UserError
from .image_headers import Header, other_format, read_header
from .mentions import Mention, locate, mentions

if TYPE_CHECKING:
    from ...journal.blobs import Blobs

MAX_IMAGES = 8
"""Maximum number of images in one message."""
MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""Maximum size of an image: Anthropic does not accept larger ones."""
POSSIBLE = "PNG, JPEG, GIF or WebP"
_SUFFIXES = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp")
_OTHER_SUFFIXES = (".svg", ".heic", ".heif", ".avif", ".bmp", ".tif", ".tiff", ".ico", ".jxl", ".psd")
_LOOK = 4_096
"""Number of bytes that suffice to recognize an image."""


@dataclass(frozen=True, slots=True)
class Attached:
    """An image attached to a message."""

    ref: ImageRef
    data: bytes


def attach(text: str, root: Path) -> list[Attached]:
    """Return the images that a message names with `@`, each once. Relative paths start at `root`.

    Other files are not attached. Raises UserError for an image that cannot be attached.
    """
    found: dict[str, Attached] = {}
    for mention in mentions(text):
        one = _attach(mention, root)
        if one is not None:
            found.setdefault(one.ref.sha, one)
        if len(found) > MAX_IMAGES:
            raise UserError(f"more than {MAX_IMAGES} images: send at most {MAX_IMAGES} in one message")
    return list(found.values())


def check_attached(images: Sequence[ImageRef], blobs: Blobs) -> str | None:
    """Compare images that a view attached with their stored bytes. Return why one cannot be used, or None."""
    if len(images) > MAX_IMAGES:
        return f"{len(images)} images: send at most {MAX_IMAGES} in one message"
    for image in images:
        try:
            data = blobs.load(image.sha)
        except KeyError:
            return f"the journal does not hold the image {image.name}: attach it again"
        header = read_header(data) if len(data) <= MAX_IMAGE_BYTES else None
        if header is None or header.is_broken or header != Header(image.media, image.width, image.height):
            return f"{image.name} is not the image that the message describes: attach it again"
    return None


def can_be_attached(name: str) -> bool:
    """Return whether a file with this name can be attached as an image."""
    return name.lower().endswith(_SUFFIXES)


def looks_like_picture(path: Path) -> bool:
    """Return whether the file contains a picture, in any format except text formats such as SVG."""
    try:
        data, _ = _content(path)
    except OSError:
        return False
    return data is not None and (read_header(data) is not None or other_format(data) not in (None, "SVG", "PDF"))


def _is_named_image(name: str) -> bool:
    return name.lower().endswith((*_SUFFIXES, *_OTHER_SUFFIXES))


def _attach(mention: Mention, root: Path) -> Attached | None:
    """Attach a mentioned file; None if it is not an image, because the model can read it with a tool."""
    for written in (mention.path, mention.shorter):
        path = None if written is None else locate(written, root)
        if path is not None and os.path.lexists(path):
            return _read(path, root)
    written = mention.shorter or mention.path
    if _is_named_image(written):
        raise UserError(f"{written}: there is no such file, so it cannot be attached")
    return None


def _read(path: Path, root: Path) -> Attached | None:
    name, is_named_image = path.name, _is_named_image(path.name)
    try:
        data, size = _content(path)
    except OSError as error:
        if is_named_image:
            raise UserError(f"{name} cannot be attached: {error.strerror or error}") from None
        return None
    if data is None:
        if is_named_image:
            raise UserError(f"{name} is not a regular file, so it cannot be attached")
        return None
    header = read_header(data)
    if header is None:
        what = other_format(data)
        if not is_named_image and (what in (None, "SVG", "PDF")):
            return None
        raise UserError(f"{name} is {what or 'not an image'}: attach {POSSIBLE}")
    _refuse_place(path, root)
    if size > MAX_IMAGE_BYTES:
        limit, has = MAX_IMAGE_BYTES >> 20, size / (1 << 20)
        raise UserError(f"{name} has {has:.1f} MB: an image may have at most {limit} MB")
    if header.is_broken:
        raise UserError(f"{name} is a damaged {header.media.removeprefix('image/').upper()} file")
    ref = ImageRef(
        sha=hashlib.sha256(data).hexdigest(),
        media=header.media,
        name=name,
        width=header.width,
        height=header.height,
        size=len(data),
    )
    return Attached(ref, data)


def _refuse_place(path: Path, root: Path) -> None:
    """Raise UserError for a secret file, and for a link in the workspace that points outside it."""
    name = path.name
    real = real_path(path)
    for parts in (path.parts[1:], real.parts[1:]):
        if why := why_forbidden(parts):
            raise UserError(f"{name} cannot be attached: {why}")
    inside = Path(os.path.normpath(path)).is_relative_to(root)
    if inside and not real.is_relative_to(os.path.realpath(root)):  # somebody else may have created the link
        raise UserError(f"{name} is a link to {real}, outside of the workspace: name that file instead")


def _content(path: Path) -> tuple[bytes | None, int]:
    """Return the content and the size in bytes; only the start if it is not an image.

    Returns None if it is not a regular file.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device or a pipe can have effects
        return None, 0
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with reader_of(descriptor) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None, 0
        data = file.read(_LOOK)
        if read_header(data) is not None:
            data += file.read(MAX_IMAGE_BYTES + 1 - len(data))
        return data, max(status.st_size, len(data))
