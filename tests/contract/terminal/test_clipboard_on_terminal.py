"""Ctrl+V attaches the image of the clipboard, in the real program."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from fakes.pictures import png
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say


@pytest.mark.parametrize("has_image", [True, False])
def test_the_image_of_the_clipboard_goes_to_the_model(home: Home, project: Path, tmp_path: Path, has_image: bool):
    (tmp_path / "shot").write_bytes(png(321, 123))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("wl-paste", "xclip", "xsel"):
        shows = f'exec cat "{tmp_path}/shot"' if has_image and name == "xclip" else "exit 1"
        (programs / name).write_text(f"#!/bin/sh\n{shows}\n")
        (programs / name).chmod(0o755)
    env = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with (
        ScriptedServer([say("It is grey.")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project, env=env) as terminal,
    ):
        terminal.wait_for("explain this folder")
        terminal.send("what is this? ")
        terminal.press("ctrl+v")
        if not has_image:
            terminal.wait_for("the clipboard has no image")
        else:
            terminal.wait_for("attaching image clipboard-1.png, 321x123")
            terminal.press("enter")
            terminal.wait_for("It is grey.")
            assert base64.b64encode(png(321, 123)).decode() in server.requests[0].text
        terminal.press("ctrl+c", "ctrl+c")
        terminal.wait_for_exit()
    assert not [*Path(home.env.get("TMPDIR", "/tmp")).glob("rundry-paste-*/tmp/clipboard-*")]
