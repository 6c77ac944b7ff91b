"""The Action's step as a runner starts it, and a server that plays GitHub's API for comments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / ".github" / "actions" / "rundry" / "run_rundry.py"
REPOSITORY = "somebody/calc"

STAND_IN = """#!{python}
import json, os, sys
if sys.argv[1] == "export" and "jsonl" in sys.argv:
    for event in json.loads({events!r}):
        print(json.dumps(event))
    sys.exit({events_code})
if sys.argv[1] == "export":
    print("# `fix it`\\n\\n- run: `run-1`\\n- outcome: `{words}`\\n\\n`Task`")
    sys.exit({export_code})
print({said!r}, file=sys.stderr)
with open({seen!r}, "w") as file:
    json.dump([sys.argv[1:], dict(os.environ), sys.stdin.read()], file)
sys.exit({exit_code})
"""


@dataclass
class GitHub:
    """Comments of pull requests, kept in memory. Each way to fail is a field."""

    url: str = ""
    post_status: list[int] = field(default_factory=list)
    """Statuses of the next posts; then 201."""
    vanish: bool = False
    """A post is answered with 201, and never there."""
    late_reads: int = 0
    """Reads of a comment that find nothing yet."""
    delay: float = 0.0
    redirect: str = ""
    empty_id: bool = False
    comments: dict[int, str] = field(default_factory=dict)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and authorization of each request."""


@contextmanager
def played_github() -> Iterator[GitHub]:
    """Serve the API until the end of the block."""
    github = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            self.note()
            status = github.post_status.pop(0) if github.post_status else 201
            if status == 201:
                number = len(github.comments) + 1
                github.comments[number] = text
                self.answer(201, {} if github.empty_id else {"id": number, "body": text})
            else:
                self.answer(status, {"message": "Resource not accessible by integration"})

        def do_GET(self) -> None:
            self.note()
            number = int(self.path.rpartition("/")[2])
            github.late_reads -= 1
            if github.vanish or github.late_reads >= 0 or number not in github.comments:
                self.answer(404, {"message": "Not Found"})
            else:
                self.answer(200, {"id": number, "body": github.comments[number]})

        def note(self) -> None:
            github.seen.append((self.command, self.path, self.headers["Authorization"]))
            time.sleep(github.delay)

        def answer(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(307 if github.redirect else status)
            if github.redirect:
                self.send_header("Location", github.redirect + self.path)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return  # the client did not wait

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    github.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Step:
    """One step of a job: its variables, its files, and what it left."""

    folder: Path
    project: Path
    env: dict[str, str]
    done: subprocess.CompletedProcess[str] | None = None

    def set(self, **inputs: str) -> Step:
        self.env |= {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
        return self

    def pull_request(self, github: GitHub, *, fork: str | None = REPOSITORY, number: object = 7) -> Step:
        head = {"repo": None if fork is None else {"full_name": fork}}
        (self.folder / "event.json").write_text(json.dumps({"pull_request": {"number": number, "head": head}}))
        self.env |= {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_API_URL": github.url}
        return self

    def stand_in(
        self,
        *events: dict[str, Any],
        exit_code: int = 0,
        export_code: int = 0,
        events_code: int = 0,
        words: str = "done",
        said: str = "",
    ) -> Step:
        """Use a program instead of rundry that records its words, variables and input."""
        program = self.folder / "rundry"
        program.write_text(
            STAND_IN.format(
                python=sys.executable,
                events=json.dumps(events),
                seen=str(self.folder / "seen.json"),
                exit_code=exit_code,
                export_code=export_code,
                events_code=events_code,
                words=words,
                said=said,
            )
        )
        program.chmod(0o755)
        return self.set(command=str(program))

    def run(self) -> int:
        self.done = subprocess.run(
            [sys.executable, str(SCRIPT)], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=120
        )
        return self.done.returncode

    @property
    def sentence(self) -> str:
        """What the step says about its failure."""
        assert self.done is not None
        lines = [line for line in self.done.stdout.splitlines() if line.startswith("::error title=rundry::")]
        assert len(lines) == 1, f"{self.done.stdout}\n{self.done.stderr}"
        return lines[0].removeprefix("::error title=rundry::")

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.read("output").splitlines())

    @property
    def summary(self) -> str:
        return self.read("summary.md")

    def read(self, name: str) -> str:
        file = self.folder / name
        return file.read_text("utf-8") if file.exists() else ""

    @property
    def seen(self) -> tuple[list[str], dict[str, str], str]:
        """What the stand-in was started with."""
        return tuple(json.loads(self.read("seen.json")))


def make_step(folder: Path, project: Path) -> Step:
    """A step of a push, with good inputs and no model."""
    folder.mkdir()
    (folder / "event.json").write_text("{}")
    runner = {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_WORKSPACE": str(project),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_ENV": str(folder / "env"),
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "id-token-of-the-job",
        "RUNNER_TEMP": str(folder / "temp"),
    }
    inputs = {
        "task": "Fix the suite.",
        "check": "python3 -m unittest -q",
        "diff": "",
        "model": "fake",
        "api_base": "",
        "api_key": "none",
        "api_key_variable": "OPENAI_API_KEY",
        "steps": "8",
        "usd": "5",
        "time": "90s",
        "directory": ".",
        "forks": "fail",
        "token": "token-of-the-job",
        "post_time": "20",
        "command": "",
    }
    home = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return Step(folder, project, {**home, "LANG": "C.UTF-8", **runner}).set(**inputs)
