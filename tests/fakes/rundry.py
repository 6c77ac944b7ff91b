"""The installed `rundry` command, run as a user's shell would run it, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from .terminal import Terminal

RUNDRY = Path(os.path.normpath(sys.executable)).with_name("rundry")
"""Without `..`: a sandbox may hide the folder on the way."""
TIMEOUT = 120.0
"""Seconds after which a command of a test counts as hung."""


class Events:
    """Ways to look at a run's events."""

    events: Any

    @property
    def outcome(self) -> dict[str, Any]:
        last = self.events[-1]
        assert last["type"] == "run_ended", f"the last event is {last['type']}\n{self}"
        return last

    def of(self, *types: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] in types]

    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def results(self, tool: str | None = None) -> list[str]:
        """What the model read from its tools, oldest first."""
        return [e["result"] for e in self.of("tool_finished") if tool in (None, e["tool"])]

    def story(self) -> str:
        """For a failure's text: the events in short."""
        shown = ("seq", "at", "step", "work", "type", "diff", "journal")
        return "\n".join(
            f"{e['step'] or '-':>3} {e['type']} "
            + " ".join(f"{k}={str(v)[:100]!r}" for k, v in e.items() if k not in shown and v not in (None, "", [], {}))
            for e in self.events
        )


@dataclass
class Ran(Events):
    """What a finished command left."""

    exit_code: int
    stdout: str
    stderr: str
    argv: list[str] = field(default_factory=list)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Of `--json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def __str__(self) -> str:
        return f"{' '.join(self.argv)}\nexit {self.exit_code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


class Home:
    """An empty home and config, runs in a folder of its own, no key of any provider."""

    def __init__(self, root: Path, words: Sequence[str] = ()) -> None:
        """`words`: a program and its options that start the command."""
        self.root, self.words = root / "home", list(words)
        self.runs = root / "runs"
        self.root.mkdir(parents=True)
        self.env: dict[str, str] = {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "RUNDRY_RUNS_DIR": str(self.runs),
            "PATH": f"{RUNDRY.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            **{k: v for k, v in os.environ.items() if k in ("TMPDIR", "COVERAGE_PROCESS_START")},
        }

    @property
    def config_file(self) -> Path:
        return self.root / "config" / "rundry" / "config.toml"

    def end_runners(self) -> None:
        """Ends what still runs on the journals of this home, and nothing else."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("RUNDRY_RUNS_DIR") == str(self.runs):
                    process.kill()

    def journals(self) -> list[Path]:
        """Of all runs here, oldest first."""
        found = []
        for folder, folders, names in os.walk(self.runs):  # a folder of layers can go while this looks
            folders[:] = [name for name in folders if name != "layers"]
            found += [Path(folder, name) for name in names if name.endswith(".db")]
        return sorted(found)

    def kept_layers(self, kind: str) -> list[Path]:
        """Folders of the layers of passes, tries or items that are on the disk."""
        return sorted(self.runs.glob(f"layers/*/layers/{kind}-*"))

    def run(
        self,
        *argv: str,
        cwd: Path,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        through: Sequence[str] = (),
    ) -> Ran:
        """Runs it to its end. `through`: a program and its options that start it."""
        done = subprocess.run(
            [*self.words, *through, str(RUNDRY), *argv],
            cwd=cwd,
            env={**self.env, **(env or {})},
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr, ["rundry", *argv])

    def start(self, *argv: str, cwd: Path, env: Mapping[str, str] | None = None) -> Running:
        """Starts it and gives it back while it runs."""
        return Running([*self.words, str(RUNDRY), *argv], ["rundry", *argv], cwd=cwd, env={**self.env, **(env or {})})

    def screen(
        self,
        *argv: str,
        cwd: Path,
        rows: int = 40,
        columns: int = 120,
        env: Mapping[str, str] | None = None,
        truecolor: bool = True,
    ) -> Terminal:
        """Opens it in a pseudo-terminal."""
        environment = {**self.env, **(env or {})}
        command = [*self.words, str(RUNDRY), *argv]
        return Terminal(command, rows=rows, columns=columns, env=environment, cwd=cwd, truecolor=truecolor)


class Running:
    """A command that runs; its `--json` lines can be waited for."""

    def __init__(self, argv: list[str], shown: list[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        """`shown`: the words of the user."""
        self.argv = shown
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_event(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Reads on until an event of that type has these fields."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)
            event = json.loads(line)
            if event["type"] == kind and all(event.get(k) == v for k, v in fields.items()):
                return event
        raise AssertionError(f"no {kind} before the end\n{self.finish()}")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def finish(self, timeout: float = TIMEOUT) -> Ran:
        """Its end."""
        out, err = self._process.communicate(timeout=timeout)
        return Ran(self._process.returncode, "".join(self._lines) + out, err, self.argv)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def assert_refused(ran: Ran, *words: str) -> None:
    """Assert that a command ended with exit code 2 and one line that contains each of these words."""
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    for word in words:
        assert word in line, ran


def waiting_proposals(home: Home, project: Path) -> list[dict[str, str]]:
    """Return the proposals that `rundry handoffs` lists for a project."""
    return [p for run in json.loads(home.run("handoffs", "--json", cwd=project).stdout) for p in run["proposals"]]


def exported_events(home: Home, run_id: str, kind: str) -> list[dict[str, Any]]:
    """Return the events of one kind that `rundry export` prints."""
    ran = home.run("export", run_id, cwd=home.root)
    return [event for event in map(json.loads, ran.stdout.splitlines()) if event["type"] == kind]
