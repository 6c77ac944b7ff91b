"""Tests on machines with and without bubblewrap."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

needs_bubblewrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)
needs_home_outside_tmp = pytest.mark.skipif(
    Path.home().resolve().is_relative_to("/tmp"), reason="HOME is below /tmp: the screen says that FIFOs are not held"
)
_ABOUT_THE_SANDBOX = re.compile(
    r"\w+ does not guarantee \(see `rundry doctor`\): |Landlock does not keep a command from "
)


def without_sandbox_note(text: str) -> str:
    """Return the text without a first line about a weak sandbox of this machine.

    With a home below /tmp the probe's attack on a FIFO works: what is shown there lies below a writable mount, and
    Landlock's rule for that one holds for everything below it.
    """
    first, _, rest = text.lstrip("\n").partition("\n")
    return rest.lstrip("\n") if _ABOUT_THE_SANDBOX.match(first.removeprefix("> ")) else text


def notes_of(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the notes of these starts and resumes, without those about a weak sandbox of this machine."""
    return [note for event in events for note in event["notes"] if not _ABOUT_THE_SANDBOX.match(note)]
