"""Images of the clipboard, read with small real programs of the names that desktops have."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.pictures import png

from rundry.agent import RundryError
from rundry.tui.message.clipboard_image import write_clipboard_image


def program(folder: Path, name: str, lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("platform", "name", "wanted"),
    [
        ("linux", "wl-paste", "--type image/png"),
        ("linux", "xclip", "-target image/png"),
        ("linux", "xsel", "--clipboard --output"),
        ("darwin", "pngpaste", "-"),
    ],
)
def test_the_program_of_the_desktop_is_asked_for_the_image(tmp_path: Path, platform: str, name: str, wanted: str):
    (tmp_path / "shot").write_bytes(png())
    program(tmp_path / "bin", name, f'case "$*" in *"{wanted}"*) exec /bin/cat "{tmp_path}/shot" ;; esac; exit 1')
    write_clipboard_image(tmp_path / "to.png", {"PATH": str(tmp_path / "bin")}, platform)
    assert (tmp_path / "to.png").read_bytes() == png()
    assert (tmp_path / "to.png").stat().st_mode & 0o777 == 0o600


def test_macos_without_another_program_writes_hexadecimal_digits(tmp_path: Path):
    program(tmp_path / "bin", "osascript", f"printf '«data PNGf{png().hex().upper()}»\\n'")
    write_clipboard_image(tmp_path / "to.png", {"PATH": str(tmp_path / "bin")}, "darwin")
    assert (tmp_path / "to.png").read_bytes() == png()


def test_a_program_that_fails_leaves_it_to_the_next_one(tmp_path: Path):
    (tmp_path / "shot").write_bytes(png())
    program(tmp_path / "bin", "wl-paste", "echo no display >&2; exit 1")
    program(tmp_path / "bin", "xclip", f'exec /bin/cat "{tmp_path}/shot"')
    write_clipboard_image(tmp_path / "to.png", {"PATH": str(tmp_path / "bin")}, "linux")
    assert (tmp_path / "to.png").read_bytes() == png()


@pytest.mark.parametrize(
    ("lines", "says"),
    [("echo only a text", "has no image"), ("exit 1", "has no image"), (None, "no program can read the clipboard")],
)
def test_without_an_image_or_a_program_it_says_so(tmp_path: Path, lines: str | None, says: str):
    if lines is not None:
        program(tmp_path / "bin", "xclip", lines)
    with pytest.raises(RundryError, match=says):
        write_clipboard_image(tmp_path / "to.png", {"PATH": str(tmp_path / "bin")}, "linux")
    assert not (tmp_path / "to.png").exists()
