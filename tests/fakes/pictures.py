"""Small pictures in the four formats that models accept, and some in others, written byte by byte."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 800, height: int = 600, *, padding: int = 0) -> bytes:
    """A whole one-colour picture. `padding`: bytes that a private chunk adds."""
    rows = zlib.compress(b"".join(b"\0" + b"\x7f" * width for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    extra = _chunk(b"prIv", b"\1" * padding) if padding else b""
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + extra + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg(width: int = 640, height: int = 480, *, exif: int = 20) -> bytes:
    """Headers as a camera writes them: an EXIF segment, tables, the frame; the picture's data is a stub."""
    segments = [
        (0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0"),
        (0xE1, b"Exif\0\0" + b"\xff\xc0\0\x11" * (exif // 4)),  # a thumbnail holds markers of its own
        (0xDB, b"\0" + b"\1" * 64),
        (0xC4, b"\0" + b"\0" * 16),
        (0xC2, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0"),
        (0xDA, b"\1\1\0\0\x3f\0"),
    ]
    body = b"".join(b"\xff" + bytes([kind]) + struct.pack(">H", len(data) + 2) + data for kind, data in segments)
    return b"\xff\xd8" + body + b"\x2a\xff\xd9"


def gif(width: int = 32, height: int = 16) -> bytes:
    """One frame of one colour."""
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\2\2L\1\0"
    return b"GIF89a" + screen + frame + b";"


def webp(width: int = 300, height: int = 200, kind: str = "VP8L") -> bytes:
    """The container with the header of a lossy (`VP8 `), lossless or extended (`VP8X`) picture."""
    match kind:
        case "VP8 ":
            data = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\0" * 8
        case "VP8L":
            data = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 9
        case _:
            data = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    chunk = kind.encode() + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 64
BMP = b"BM" + struct.pack("<IHHI", 70, 0, 0, 54) + b"\0" * 56
