"""The scripted server as a process of its own, so that it shares no interpreter with what is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Served:
    base_url: str
    log: Path

    def requests(self) -> list[dict[str, Any]]:
        """Of each: arrived, last_byte (monotonic seconds of this machine), body, usage."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextmanager
def serving(script: dict[str, Any], folder: Path, *, logs: bool = True) -> Iterator[Served]:
    """`logs`: write down each request; a long run sends gigabytes."""
    file, log = folder / "script.json", folder / "requests.jsonl"
    file.write_text(json.dumps(script))
    log.write_text("")
    argv = [sys.executable, "-m", "fakes.server", "--script", str(file), *(["--log", str(log)] if logs else [])]
    with subprocess.Popen(argv, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Served(json.loads(process.stdout.readline())["base_url"], log)
        finally:
            process.kill()
