"""What a terminal received, as an asciicast file: `asciinema play FILE`."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ..terminal import Terminal

STEP = 0.1
"""Seconds of output that become one event of the recording."""
STILL = 1.5
"""A longer pause is cut to this."""


def save(terminal: Terminal, path: Path, title: str) -> None:
    """Write what the terminal received as asciicast, version 2."""
    lines = [json.dumps({"version": 2, "width": terminal.columns, "height": terminal.rows, "title": title})]
    shown, before, waiting = 0.0, terminal.started, b""
    for at, data in [*terminal.output, (time.monotonic(), b"")]:
        waiting += data
        if (at - before < STEP and data) or not waiting:
            continue
        shown += min(at - before, STILL)
        before = at
        text = waiting.decode("utf-8", "ignore")
        lines.append(json.dumps([round(shown, 2), "o", text], ensure_ascii=False))
        waiting = b""
    path.write_text("\n".join(lines) + "\n", "utf-8")
