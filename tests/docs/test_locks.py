"""Both lock files name the same packages in the same versions."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)==([^\s\\;]+)", re.M)


def pins(path: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / path).read_text("utf-8")))


def test_what_running_needs_is_locked_to_the_versions_that_are_tested():
    tested, needed = pins("requirements.lock"), pins(".dev/run.lock")
    assert needed
    assert set(needed.items()) - set(tested.items()) == set()
    assert {"textual", "click", "httpx", "litellm"} <= needed.keys()
    assert {"pytest", "ruff"} <= tested.keys() - needed.keys()
