"""Real model servers with a real model of 135M parameters, from the folder that `RUNDRY_MODELS` names.

The folder holds `server/llama-server` (llama.cpp's own), `smollm2-135m-instruct.gguf`, and for the second server a
`venv` with `llama-cpp-python[server]`. That one uses the libraries in `server`, so build none with it:
`CMAKE_ARGS="-DLLAMA_BUILD=OFF -DLLAVA_BUILD=OFF" pip install --no-binary llama-cpp-python 'llama-cpp-python[server]'`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import psutil

Kind = Literal["llama.cpp", "llama-cpp-python"]
KINDS: tuple[Kind, ...] = ("llama.cpp", "llama-cpp-python")
NAME = "smollm2-135m"
WINDOW = 2048
STARTING = 120.0
"""Seconds in which a server must answer its first request."""


def missing(kind: Kind) -> str:
    """Return why this server cannot be started; empty if it can."""
    folder = _folder()
    if folder is None:
        return "RUNDRY_MODELS names no folder with models"
    needed = [_weights(folder), folder / "server/llama-server"]
    if kind == "llama-cpp-python":
        packages = (folder / "venv").glob("lib/python3*/site-packages")
        needed.append(next((p / "llama_cpp/server" for p in packages), folder / "venv"))
        needed.append(folder / "venv/bin/python")
    absent = [path.relative_to(folder) for path in needed if not path.exists()]
    return f"RUNDRY_MODELS has no {', '.join(map(str, absent))}" if absent else ""


class ModelServer:
    """A server as a process of its own, on a port that the system chose."""

    def __init__(self, kind: Kind, log: Path) -> None:
        folder = _folder()
        assert folder is not None and not missing(kind)
        self.kind = kind
        self._log, self._argv, self._env = log, [], dict(os.environ)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if kind == "llama.cpp":
            words = ["--alias", NAME, "-c", WINDOW, "-np", 1, "-t", 2, "--jinja"]
            self._argv = [str(folder / "server/llama-server"), "-m", str(_weights(folder)), *map(str, words)]
        else:
            words = ["--model_alias", NAME, "--n_ctx", WINDOW, "--n_threads", 2]
            self._argv = [str(folder / "venv/bin/python"), "-m", "llama_cpp.server", "--model", str(_weights(folder))]
            self._argv += map(str, words)
            self._env["LLAMA_CPP_LIB_PATH"] = str(folder / "server")
        self._argv += ["--host", "127.0.0.1", "--port", str(self.port)]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ModelServer:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._argv, env=self._env, stdout=log, stderr=subprocess.STDOUT)
        try:
            self._wait(self._answers, STARTING, "answer to a first request")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def wait_idle(self, timeout: float = 30.0) -> None:
        """Wait until the server computes nothing: llama.cpp's slots say so, and no processor time passes."""
        if self.kind == "llama.cpp":
            self._wait(lambda: not any(slot["is_processing"] for slot in self.get("/slots")), timeout, "free slot")
        self._wait(self._rests, timeout, "rest of the processor")

    def ask(self, messages: list[dict[str, str]], most: int) -> dict[str, Any]:
        """Return a whole answer, as the server gives it without rundry."""
        body = {"model": NAME, "messages": messages, "max_tokens": most, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base_url}/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return json.load(answer)

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"{self.kind} ended\n{self._log.read_text(errors='replace')[-2000:]}")
        try:
            return bool(self.get("/v1/models"))
        except OSError:
            return False

    def _rests(self) -> bool:
        """Return whether the server uses less than a fifth of one core for a quarter of a second."""
        process = psutil.Process(self._process.pid)
        return process.cpu_percent(interval=0.25) < 20

    def _wait(self, fact: Callable[[], bool], timeout: float, what: str) -> None:
        end = time.monotonic() + timeout
        while not fact():
            if time.monotonic() > end:
                raise TimeoutError(f"no {what} of {self.kind} within {timeout:g} s")
            time.sleep(0.05)


def _folder() -> Path | None:
    named = os.environ.get("RUNDRY_MODELS")
    return Path(named) if named else None


def _weights(folder: Path) -> Path:
    return folder / "smollm2-135m-instruct.gguf"
