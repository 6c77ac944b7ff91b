"""A background command that writes in the user's build output: what it plants leads nowhere (0039)."""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

import pytest
from contract.faults.in_layers import git, headless
from fakes.turns import call
from step.layered import events

from rundry.agent.protocol import Budget, Say

ASK = 'exec 3<>/dev/tcp/127.0.0.1/8124; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; grep -q green <&3'
SERVER = """import errno, http.server, os, threading, time

def plant(what, *args):
    for _ in range(100):
        try:
            return what(*args)
        except OSError as error:
            if error.errno != errno.EROFS:  # nothing can be written while a check runs
                return print(what.__name__, args[0], error, flush=True)
        time.sleep(0.1)

plant(os.unlink, "dist/app.js")
plant(os.mknod, "dist/app.js", 0o20000, 0)
plant(os.mknod, "dist/hidden", 0o20000, 0)
plant(os.setxattr, "dist/assets", "user.overlay.opaque", b"y")
plant(os.setxattr, "dist", "user.overlay.opaque", b"y")
plant(os.setxattr, "dist/index.html", "user.overlay.redirect", b"/kept.txt")
for name, target in (("git", "../.git/config"), ("out", "../../outside/file"), ("up", ".."), ("kept", "../kept.txt")):
    plant(os.symlink, target, f"dist/{name}")
for name in ("kept.txt", ".git/config"):
    plant(os.link, name, f"dist/hard-{os.path.basename(name)}")

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"green")

    def log_message(self, *args):
        pass

def rewrite():
    while True:
        for path in ("dist/late.txt", "dist/.envrc", "kept.txt"):
            try:
                with open(path, "w") as file:
                    file.write("late")
            except OSError:
                pass
        time.sleep(0.02)

threading.Thread(target=rewrite, daemon=True).start()
try:
    http.server.HTTPServer(("127.0.0.1", 8124), Answers).serve_forever()
except OSError as error:  # Landlock lets no background command listen
    print(error, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def work(place: Path) -> Path:
    """A repository with build output that exists, and the script of a server."""
    work = place / "work"
    (work / "package.json").write_text("{}\n")
    (work / ".gitignore").write_text("dist/\n")
    (work / "server.py").write_text(SERVER)
    (work / "dist/assets").mkdir(parents=True)
    for name in ("index.html", "app.js", "assets/a.css"):
        (work / "dist" / name).write_text("built\n")
    (place / "outside/file").write_text("of the user\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "output")
    return work


START = call("start_command", name="server", command="python3 server.py")
WAIT = "for n in $(seq 300); do test -e dist/late.txt && break; sleep 0.05; done; ls -la dist"


async def test_what_it_plants_leads_no_command_anywhere_else(place: Path, work: Path):
    settings = (work / ".git/config").read_bytes()
    lines = (
        WAIT,
        "echo owned >> dist/git; echo owned >> dist/out; echo owned > dist/up/.envrc; echo owned > dist/hard-config",
        "rm -rf dist/assets dist/hidden; mkdir -p dist/assets; echo new > dist/assets/b.css; echo new > dist/app.js",
        "echo more >> dist/kept",
    )
    run = headless(place, START, *lines, live=["dist"])
    await run.run(within=60)
    assert (work / "dist/late.txt").exists(), [one["output"] for one in events(run, "background_ended")]
    assert (work / ".git/config").read_bytes() == settings, run.story()
    assert (place / "outside/file").read_text() == "of the user\n" and not (work / ".envrc").exists()
    assert (work / "kept.txt").read_text() in ("one\n", "one\nmore\n"), "only a command that was judged may change it"
    assert git(work, "status", "--porcelain") in ("", " M kept.txt\n"), run.story()
    for path in (work / "kept.txt", work / ".git/config"):
        assert path.stat().st_nlink == 1, "no other name of it leads into the output"
    assert git(work, "fsck", "--full") == ""


async def test_while_it_answers_a_check_it_changes_nothing_but_output(place: Path, work: Path):
    # whether a verdict may rest on such an answer is not decided here
    check = f"test -e made && grep -q one kept.txt && bash -c '{ASK}'"
    run = headless(place, START, WAIT, "echo x > made", live=["dist"], until=[check], budget=Budget(steps=4))
    await run.run(within=60)
    assert (work / "dist/late.txt").exists(), [one["output"] for one in events(run, "background_ended")]
    assert (work / "kept.txt").read_text() == "one\n" and (work / "made").exists(), run.story()
    assert {one["path"] for one in events(run, "file_changed") if not one["path"].startswith("dist/")} == {"made"}
    assert git(work, "status", "--porcelain") == "?? made\n"


async def test_output_that_the_user_builds_again_is_the_users_alone(place: Path, work: Path):
    def build_again(event: dict[str, object]) -> Say:
        while (work / "dist").exists():
            with suppress(OSError):  # the server makes a file while the folder is removed
                shutil.rmtree(work / "dist")
        (work / "dist").mkdir()
        (work / "dist/index.html").write_text("built by the user\n")
        end = time.monotonic() + 0.3
        while time.monotonic() < end:  # many rounds of the server
            time.sleep(0.05)
        return Say(text="")

    run = headless(place, START, WAIT, "echo mine > dist/app.js; sleep 0.3; ls dist", live=["dist"])
    run.on("tool_finished", build_again, tool="run_command")
    await run.run(within=60)
    found = {path.name: path.read_text() for path in (work / "dist").iterdir() if stat.S_ISREG(path.lstat().st_mode)}
    assert found == {"index.html": "built by the user\n", "app.js": "mine\n"}, run.story()
    assert sorted(os.listdir(work / "dist")) == ["app.js", "index.html"]
    assert (work / "kept.txt").read_text() == "one\n"
