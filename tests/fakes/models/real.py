"""A real model on llama.cpp's own server, from the folder that RUNDRY_MODELS names; skipped without it.

The folder has `server/llama-server` and the model's file. Its text is random: tests look at the protocol, not at words.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TINY = "smollm2-135m-instruct.gguf"
_LOADS = 120.0
"""Seconds until the model is loaded, on a busy machine."""


@contextmanager
def real_server(*options: str, model: str = TINY) -> Iterator[str]:
    """Serve the model on loopback, with a window of 4,096 tokens and one slot. Gives the address."""
    folder = Path(os.environ.get("RUNDRY_MODELS") or "/nonexistent")
    program = folder / "server" / "llama-server"
    if not program.is_file() or not (folder / model).is_file():
        pytest.skip(f"RUNDRY_MODELS names no folder with server/llama-server and {model}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [str(program), "-m", str(folder / model), "--jinja", "-c", "4096", "-np", "1", "-t", "1"]
    process = subprocess.Popen(
        [*line, "--host", "127.0.0.1", "--port", str(port), *options],
        env={**os.environ, "LD_LIBRARY_PATH": str(program.parent)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_loaded(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _wait_until_loaded(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _LOADS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"llama-server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("llama-server did not load its model")
