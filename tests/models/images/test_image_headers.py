from __future__ import annotations

import random

import pytest
from fakes.pictures import BMP, HEIC, SVG, gif, jpeg, png, webp

from rundry.agent.models.images.image_headers import Header, other_format, read_header


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (png(801, 3), Header("image/png", 801, 3)),
        (jpeg(640, 481), Header("image/jpeg", 640, 481)),
        (jpeg(5, 6, exif=60_000), Header("image/jpeg", 5, 6)),
        (gif(300, 2), Header("image/gif", 300, 2)),
        (webp(301, 202, "VP8 "), Header("image/webp", 301, 202)),
        (webp(16_384, 1, "VP8L"), Header("image/webp", 16_384, 1)),
        (webp(70_000, 9, "VP8X"), Header("image/webp", 70_000, 9)),
    ],
)
def test_format_and_dimensions_are_read_from_the_header(data: bytes, header: Header):
    assert read_header(data) == header


@pytest.mark.parametrize(
    "data", [png(), jpeg(), gif()[:12], webp(), b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X"]
)
def test_a_picture_that_is_cut_off_is_broken(data: bytes):
    found = read_header(data[: len(data) // 2] if len(data) > 20 else data)
    assert found is not None
    assert found.is_broken


@pytest.mark.parametrize(
    ("data", "name"), [(SVG, "SVG"), (HEIC, "HEIC"), (BMP, "BMP"), (b"%PDF-1.7\n", "PDF"), (b"print('hi')\n", None)]
)
def test_other_formats_are_recognised_by_content(data: bytes, name: str | None):
    assert read_header(data) is None
    assert other_format(data) == name


def test_no_bytes_make_the_reader_fail():
    rng = random.Random(7)
    whole = [png(9, 9), jpeg(), gif(), webp(), webp(kind="VP8 "), webp(kind="VP8X"), HEIC, SVG, BMP]
    for _ in range(4_000):
        data = bytearray(rng.choice(whole)[: rng.randint(0, 400)])
        for _ in range(rng.randint(0, 6)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        found = read_header(bytes(data))
        assert found is None or found.is_broken or (found.width > 0 and found.height > 0)
        other_format(bytes(data))


def test_a_hostile_jpeg_is_read_in_bounded_steps():
    assert read_header(b"\xff\xd8" + b"\xff\xe1\0\2" * 1_000_000) == Header("image/jpeg", 0, 0)
