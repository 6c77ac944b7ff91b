"""Read format, width and height of an image from its first bytes. Invalid bytes never raise an exception.

Sources: PNG specification 5.2 and 11.2.1; JPEG (ITU-T T.81) B.1 and B.2.2; GIF89a 17 and 18; WebP container
specification and RFC 9649, VP8 (RFC 6386) 9.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol import ImageMedia

_SEGMENTS = 4_000
"""Maximum number of JPEG segments to read before the frame header."""
_BRANDS = {
    b"heic": "HEIC",
    b"heix": "HEIC",
    b"hevc": "HEIC",
    b"mif1": "HEIF",
    b"msf1": "HEIF",
    b"avif": "AVIF",
    b"avis": "AVIF",
}
_STARTS = (
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\0\0\1\0", "ICO"),
    (b"%PDF-", "PDF"),
    (b"8BPS", "PSD"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
)


@dataclass(frozen=True, slots=True)
class Header:
    """Format and size of an image, as its header states them."""

    media: ImageMedia
    width: int
    height: int
    """Height in pixels. 0 means that the file is broken."""

    @property
    def is_broken(self) -> bool:
        """Whether the format is known, but the file is truncated or damaged."""
        return not (self.width and self.height)


def read_header(data: bytes) -> Header | None:
    """Return the header of a PNG, JPEG, GIF or WebP image; None if the bytes are something else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Header("image/png", *_png(data))
    if data.startswith(b"\xff\xd8\xff"):
        return Header("image/jpeg", *_jpeg(data))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Header("image/gif", *_gif(data))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return Header("image/webp", *_webp(data))
    return None


def other_format(data: bytes) -> str | None:
    """Return the name of an image format that no model accepts; None if the bytes do not look like an image."""
    if data[4:8] == b"ftyp" and (brand := _BRANDS.get(data[8:12])):
        return brand
    found = next((name for start, name in _STARTS if data.startswith(start)), None)
    if found == "BMP" and len(data) >= 6 and int.from_bytes(data[2:6], "little") > len(data) + 1024:
        return None  # a text that begins with these two letters
    return found or ("SVG" if b"<svg" in data[:1024].lower() else None)


def _png(data: bytes) -> tuple[int, int]:
    is_whole = data[12:16] == b"IHDR" and data.rfind(b"IEND\xaeB`\x82") > 0
    return (_big(data, 16, 4), _big(data, 20, 4)) if is_whole else (0, 0)


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_SEGMENTS):
        while data[at : at + 2] == b"\xff\xff":  # fill bytes
            at += 1
        if at + 4 > len(data) or data[at] != 0xFF:
            break
        marker, length = data[at + 1], _big(data, at + 2, 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            whole = at + 9 <= len(data)
            return (_big(data, at + 7, 2), _big(data, at + 5, 2)) if whole else (0, 0)
        if marker in (0xD9, 0xDA) or length < 2:  # the image data begins, or the file is damaged
            break
        at += 2 + length
    return 0, 0


def _gif(data: bytes) -> tuple[int, int]:
    return (_little(data, 6, 2), _little(data, 8, 2)) if len(data) > 13 else (0, 0)


def _webp(data: bytes) -> tuple[int, int]:
    if _little(data, 4, 4) + 8 > len(data) or len(data) < 30:
        return 0, 0
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case b"VP8L" if data[20] == 0x2F:
            bits = _little(data, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case _:
            return 0, 0


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
