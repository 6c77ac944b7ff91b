"""Read an image from the clipboard with a program of the desktop. Does not import textual."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rundry.agent import RundryError

_SECONDS = 5.0
_PNG = b"\x89PNG\r\n\x1a\n"
_APPLESCRIPT = b"\xc2\xabdata PNGf"
"""How `osascript` begins the bytes of an image, which it writes as hexadecimal digits."""
_LINUX: Sequence[Sequence[str]] = (
    ("wl-paste", "--no-newline", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("xsel", "--clipboard", "--output"),
)
_MAC: Sequence[Sequence[str]] = (
    ("pngpaste", "-"),
    ("osascript", "-e", "get the clipboard as «class PNGf»"),
)
_INSTALL = "install wl-clipboard (Wayland) or xclip (X11), or type @ and the path of an image"


def write_clipboard_image(path: Path, env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> None:
    """Write the image of the clipboard to a new file. Raises RundryError without one, or without a program to read it.

    `env` and `platform`: as of `os` and `sys`; the programs are looked up on its PATH.
    """
    programs = _MAC if platform == "darwin" else _LINUX
    found = [(whole, argv) for argv in programs if (whole := shutil.which(argv[0], path=env.get("PATH")))]
    if not found:
        raise RundryError(f"no program can read the clipboard: {_INSTALL}")
    for whole, argv in found:
        data = _output([whole, *argv[1:]], env)
        if data.startswith(_APPLESCRIPT):
            data = _decoded(data)
        if data.startswith(_PNG):
            path.write_bytes(data)
            path.chmod(0o600)
            return
    raise RundryError("the clipboard has no image")


def _output(argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Return what the program wrote, or nothing if it failed: another one may be able to read the clipboard."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, env=dict(env), timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _decoded(data: bytes) -> bytes:
    digits = data.strip().removeprefix(_APPLESCRIPT).removesuffix(b"\xc2\xbb")
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        return b""
