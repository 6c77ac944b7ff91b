from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.blobs_in_memory import BlobsInMemory
from fakes.pictures import BMP, HEIC, SVG, gif, jpeg, png, webp

from rundry.agent.models.images.attach import MAX_IMAGE_BYTES, attach, check_attached
from rundry.agent.models.images.mentions import dropped_paths, mention_of
from rundry.agent.protocol import RundryError


def names(text: str, root: Path) -> list[str]:
    return [one.ref.name for one in attach(text, root)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "shot.png").write_bytes(png())
    (folder / "my shot.JPG").write_bytes(jpeg())
    (folder / "it's.gif").write_bytes(gif())
    (folder / "no-suffix").write_bytes(webp())
    (folder / "notes.txt").write_text("only text\n")
    (tmp_path / "outside.png").write_bytes(png(3, 4))
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what is in @shot.png?", ["shot.png"]),
        ("( see @shot.png), please", ["shot.png"]),
        ('see @"my shot.JPG" and @shot.png', ["my shot.JPG", "shot.png"]),
        (r"see @my\ shot.JPG", ["my shot.JPG"]),
        ("see @'my shot.JPG'", ["my shot.JPG"]),
        ("see @it's.gif", ["it's.gif"]),
        ("see @no-suffix", ["no-suffix"]),
        ("twice @shot.png @./shot.png", ["shot.png"]),
        ("see @../outside.png", ["outside.png"]),
        ("read @notes.txt, write to me@shot.png or @someone", []),
        ("shot.png is only named", []),
    ],
)
def test_a_message_attaches_the_images_that_it_names(text: str, found: list[str], root: Path):
    assert names(text, root) == found


def test_file_addresses_and_absolute_paths_are_found(root: Path):
    assert names(f"see @file://{str(root / 'my shot.JPG').replace(' ', '%20')}", root) == ["my shot.JPG"]
    assert names(f"see @{root / 'shot.png'}", Path("/")) == ["shot.png"]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.svg", SVG, "a.svg is SVG: attach PNG, JPEG, GIF or WebP"),
        ("a.heic", HEIC, "a.heic is HEIC: attach PNG, JPEG, GIF or WebP"),
        ("really.bin", BMP, "really.bin is BMP: attach PNG, JPEG, GIF or WebP"),
        ("text.png", b"no picture", "text.png is not an image: attach PNG, JPEG, GIF or WebP"),
        ("half.png", png()[:200], "half.png is a damaged PNG file"),
        ("big.png", png(padding=MAX_IMAGE_BYTES), "big.png has 5.0 MB: an image may have at most 5 MB"),
        ("id_rsa", png(), "id_rsa cannot be attached: it usually holds secrets"),
        ("empty.png", b"", "empty.png is not an image: attach PNG, JPEG, GIF or WebP"),
    ],
)
def test_what_cannot_be_attached_is_refused_in_one_line(name: str, data: bytes, why: str, root: Path):
    (root / name).write_bytes(data)
    with pytest.raises(RundryError) as refused:
        attach(f"see @{name}", root)
    assert str(refused.value) == why


def test_only_regular_files_are_opened(root: Path):
    os.mkfifo(root / "pipe.png")
    (root / "folder.png").mkdir()
    (root / "link.png").symlink_to("/dev/zero")
    (root / "loop.png").symlink_to("loop.png")
    for name in ("pipe.png", "folder.png", "link.png", "loop.png", "missing.png"):
        with pytest.raises(RundryError):
            attach(f"@{name}", root)


def test_a_link_to_a_secret_file_is_refused_as_the_file_is(root: Path):
    (root / "server.key").write_bytes(png())
    (root / "nice.png").symlink_to("server.key")
    with pytest.raises(RundryError, match="secrets"):
        attach("@nice.png", root)


def test_nine_images_are_too_many(root: Path):
    for n in range(9):
        (root / f"{n}.png").write_bytes(png(n + 1, 1))
    with pytest.raises(RundryError, match="at most 8"):
        attach(" ".join(f"@{n}.png" for n in range(9)), root)
    assert len(attach(" ".join(f"@{n}.png" for n in range(8)), root)) == 8


@pytest.mark.parametrize(
    ("pasted", "paths"),
    [
        ("/a/shot.png", ["/a/shot.png"]),
        ("/a/my\\ shot.png ", ["/a/my shot.png"]),
        ("'/a/my shot.png' '/b/two.png'", ["/a/my shot.png", "/b/two.png"]),
        ("'/a/it'\\''s.png'", ["/a/it's.png"]),
        ('"/a/my shot.png"', ["/a/my shot.png"]),
        ("file:///a/my%20shot.png\r\nfile:///b/two.png".replace("\r", ""), ["/a/my shot.png", "/b/two.png"]),
        ("/a/one.png look at this", None),
        ("relative.png", None),
        ("file://elsewhere/a.png", None),
        ("'unclosed", None),
        ("", None),
    ],
)
def test_dropped_files_are_read_as_terminals_paste_them(pasted: str, paths: list[str] | None):
    found = dropped_paths(pasted)
    if pasted == "/a/one.png look at this":
        assert found in (None, [Path("/a/one.png look at this")])
    else:
        assert found == (None if paths is None else [Path(path) for path in paths])


@pytest.mark.parametrize(
    "name", ["a.png", "a b.png", "a'b.png", 'a"b.png', "a\\b.png", "a \"b' c.png", "dots...png.", "@x.png"]
)
def test_a_mention_names_the_file_that_it_was_made_from(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(png())
    assert names(f"see {mention_of(name)} there", tmp_path) == [name]


def test_a_reference_must_fit_the_bytes_in_the_journal(root: Path):
    (one,) = attach("@shot.png", root)
    assert check_attached([one.ref], BlobsInMemory({one.ref.sha: one.data})) is None
    assert "does not hold" in str(check_attached([one.ref], BlobsInMemory()))
    assert "is not the image" in str(check_attached([one.ref], BlobsInMemory({one.ref.sha: jpeg()})))


def test_a_link_in_the_workspace_leads_nowhere_outside_of_it(root: Path):
    (root / "cat.png").symlink_to("../outside.png")
    (root / "inner.png").symlink_to("shot.png")
    with pytest.raises(RundryError, match=r"is a link to .*outside\.png, outside of the workspace"):
        attach("@cat.png", root)
    assert names("@inner.png @../outside.png", root) == ["inner.png", "outside.png"]
