"""docs/attacks.md 4.6 to 4.9 and 4.22 to 4.27 in a pseudo-terminal: the bytes that reach it, and its final state."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import unicodedata
from pathlib import Path

import psutil
import pytest
from attacks.hostile import ALL, HOSTILE, flood
from fakes.rundry import RUNDRY, Home
from fakes.terminal import Terminal

from rundry.agent.journal.journal import Journal
from rundry.agent.journal.redact import Redactor
from rundry.agent.protocol import LoopKind, ModelSpec, ProposalOpened, RunSpec, RunStarted
from rundry.agent.state.reports.run_files import new_run_id

OURS = re.compile(
    rb"\x1b\[[0-9;]*m"  # colours
    rb"|\x1b\[\d+;\d+H|\x1b\[2J"
    rb"|\x1b\[\?(?:25|7|1000|1003|1004|1006|1015|1016|1049|2004|2026|2031|2048)[hl]"
    rb"|\x1b\[\?(?:2026|2048)\$p|\x1b\[>\d+u|\x1b\[<u|\x1b\[6n"
    rb"|\x1b\]22;[a-z]*(?:\x07|\x1b\\)"  # the shape of the mouse pointer
    rb"|\x1b\[22;2t|\x1b\]2;(?:rundry: [a-z ]{1,20})?\x07|\x1b\[23;2t"  # the title: in our own words, or restored
    rb"|[\r\n]"
)
"""All that textual, the first frame and the calls send: what is left of the bytes is text."""
RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?25h", b"\x1b[?7h")


def assert_only_ours(raw: bytes) -> None:
    text = OURS.sub(b"", raw).decode()
    odd = {hex(ord(c)) for c in set(text) if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert not odd, [text[max(0, m.start() - 60) : m.end() + 40] for m in re.finditer(r"[\x00-\x1f\x7f-\x9f]", text)][
        :5
    ]


def assert_restored(raw: bytes) -> None:
    for sequence in RESTORED:
        on = sequence[:-1] + (b"l" if sequence.endswith(b"h") else b"h")
        assert raw.rfind(sequence) > raw.rfind(on), sequence


@pytest.fixture
def run_id(home: Home, project: Path) -> str:
    """A run in which every text is hostile, and that waits with a proposal."""
    home.runs.mkdir(mode=0o700)
    spec = RunSpec(
        run_id=new_run_id(time.time()), loop=LoopKind.GOAL, task="x", workspace=str(project), model=ModelSpec(name="x")
    )
    journal = Journal.create(home.runs / f"{spec.run_id}.db", spec)
    journal.redactor = Redactor([])
    for text in (ALL, HOSTILE["4.5"]):
        for event in flood(text):
            is_start = isinstance(event, RunStarted)
            journal.append(RunStarted(**{**_fields(event), "workspace": str(project)}) if is_start else event)
    blob = journal.blobs.keep(f"x = 1\n{ALL}\n".encode(errors="replace"))
    journal.append(ProposalOpened(proposal_id="f", tool="edit_file", path=ALL, digest="d", after=blob, asks=[ALL]))
    journal.close()
    for number, text in HOSTILE.items():
        name = f"{number}{text}".encode(errors="replace").replace(b"/", b"_").replace(b"\0", b"")[:120]
        Path(os.fsdecode(os.fsencode(project) + b"/" + name)).write_bytes(b"")
    Path(os.fsdecode(os.fsencode(project) + b"/bad\xff\x1b[31m")).write_bytes(b"")
    return spec.run_id


def _fields(event: RunStarted) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def asked_of(home: Home) -> list[object]:
    """What a person's keys and clicks asked the run for."""
    journal = Journal.open(home.journals()[0])
    try:
        return journal.inbox.untaken()
    finally:
        journal.close()


@pytest.mark.attack(*(f"4.{n}" for n in range(1, 23)), "4.24", "4.25", "4.26", "4.27")
def test_nothing_reaches_the_terminal_but_what_the_screen_draws(home: Home, project: Path, run_id: str) -> None:
    with home.screen("watch", run_id, cwd=project, rows=40, columns=100) as terminal:
        terminal.wait_for("n reject")
        terminal.press("ctrl+l")  # from the finder's side to the transcript
        for _ in range(12):
            terminal.press("pageup")
        for start in ("@4.5", "@4.1", "@4.22", "@bad"):
            terminal.send(start)
            terminal.wait_for(re.compile(r"^ › " + re.escape(start[1:])))
            terminal.press("tab")
            terminal.wait_gone(start)
        terminal.paste(ALL.encode(errors="replace").decode())
        for row in range(2, terminal.rows // 2):  # the transcript; the header, the gate and the footer have buttons
            for column in range(terminal.columns):
                terminal.click(row, column)
        terminal.press("f1")
        terminal.wait_for("Anywhere")
        assert asked_of(home) == []
        terminal.press("ctrl+c")  # back to the session from every dialog
        terminal.wait_gone("Anywhere")
        terminal.press("ctrl+p")
        terminal.paste(HOSTILE["4.8"])
        terminal.press("esc")
        terminal.press("ctrl+c", "ctrl+c")
        terminal.wait_for_exit()
        assert_only_ours(terminal.raw())
        assert_restored(terminal.raw())


@pytest.mark.attack("4.26", "8.1")
def test_a_screen_that_breaks_restores_the_terminal_and_shows_neither_a_key_nor_a_page_of_variables(
    home: Home, project: Path, run_id: str
) -> None:
    canary = "sk-canary-0123456789abcdef"
    code = """
import sys
from pathlib import Path
from rundry.tui.app import main_screen as screen
from rundry.tui.app.main_screen import MainScreen
from rundry.tui.cli.root import main
class Broken(MainScreen):
    CSS_PATH = str(Path(screen.__file__).with_name("main.tcss"))
    def on_mount(self):
        secret = {"api_key": CANARY}
        self.set_timer(0.1, lambda: self.fail(secret))
    def fail(self, secret):
        raise ValueError(f"broke \x1b]0;evil-title\x07 {CANARY}")
import rundry.tui.app.app as app
app.MainScreen = Broken
sys.argv = ["rundry", "watch", RUN]
main()
"""
    python = str(RUNDRY.with_name("python"))
    script = home.root / "broken.py"
    script.write_text(f"CANARY, RUN = {canary!r}, {run_id!r}\n{code}")
    env = {**home.env, "OPENAI_API_KEY": canary}
    with Terminal([python, str(script)], env=env, cwd=project) as terminal:
        assert terminal.wait_for_exit() == 1
        raw = terminal.raw()
    assert_restored(raw)
    assert_only_ours(raw)
    assert b"the screen failed: ValueError: broke" in raw
    assert canary.encode() not in raw
    (log,) = home.runs.glob("view.log")
    assert "Traceback" in log.read_text() and canary not in log.read_text()
    assert log.stat().st_mode & 0o77 == 0


@pytest.mark.attack("4.26")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(home: Home, project: Path, run_id: str, number: int) -> None:
    with home.screen("watch", run_id, cwd=project) as terminal:
        terminal.wait_for("n reject")
        terminal.signal(number)
        terminal.wait_for_exit()
        assert_restored(terminal.raw())
        assert_only_ours(terminal.raw())


@pytest.mark.attack("4.23", "4.24")
def test_in_tmux_the_clipboard_is_not_touched_and_the_title_is_in_our_words(
    home: Home, project: Path, run_id: str, tmp_path: Path
) -> None:
    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null", *words],
            env={**home.env, "TERM": "xterm-256color"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout

    if subprocess.run(["which", "tmux"], capture_output=True, check=False).returncode:
        pytest.skip("tmux is not here")
    try:
        tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(project), f"{RUNDRY} watch {run_id}; sleep 60")
        tmux("set-option", "-s", "set-clipboard", "on")
        until = time.monotonic() + 30
        while "n reject" not in tmux("capture-pane", "-p"):
            assert time.monotonic() < until, tmux("capture-pane", "-p")
            time.sleep(0.05)
        assert "csi␛" in tmux("capture-pane", "-p")
        assert tmux("list-buffers") == ""
        assert re.fullmatch(r"rundry: [a-z ]{1,20}\n", tmux("display-message", "-p", "#{pane_title}"))
    finally:
        tmux("kill-server")


@pytest.mark.attack("A.24")
def test_the_screen_listens_on_no_port(home: Home, project: Path, run_id: str) -> None:
    with home.screen("watch", run_id, cwd=project) as terminal:
        terminal.wait_for("n reject")
        for process in terminal.tree():
            assert [c for c in process.net_connections() if c.status == psutil.CONN_LISTEN] == []


@pytest.mark.attack("4.27")
def test_what_stands_on_the_command_line_and_in_a_config_is_plain_text_in_every_line_that_is_printed(
    home: Home, project: Path
) -> None:
    hostile = "evil\x1b]0;evil-title\x07\x9b3J\u202e"
    (project / ".rundry.toml").write_text(
        f'"{hostile.encode("unicode_escape").decode()}" = 1\nmodel = "x"\n'.replace("\\x", "\\u00")
    )
    for words in (
        ["doctor"],
        ["doctor", "--trust"],
        ["runs", "--runs-dir", hostile],
        ["models", "--api-base", f"http://127.0.0.1:9/{hostile}"],
        ["watch", hostile],
        ["resume", hostile],
        ["run", "--headless", "x", "--model", hostile, "--steps", hostile],
        [f"--{hostile}"],
        ["run", hostile, hostile],
        ["export", hostile],
    ):
        ran = home.run(*words, cwd=project)
        assert_only_ours(ran.stdout.encode() + ran.stderr.encode())
        assert "Traceback" not in ran.stderr


@pytest.mark.attack("4.27")
def test_the_first_frame_draws_a_hostile_task_as_text(home: Home, project: Path) -> None:
    with home.screen(
        "task\x1b]0;evil-title\x07", "--model", "fake\x1b[3J", "--api-base", "http://127.0.0.1:9/v1", cwd=project
    ) as terminal:
        terminal.wait_for("task␛]0;evil-title␇")
        terminal.wait_for("›")
        terminal.signal(signal.SIGTERM)
        terminal.wait_for_exit()
        assert_only_ours(terminal.raw())


PRINTED = {
    "runs": ("runs",),
    "handoffs": ("handoffs",),
    "report": ("report", "--days", "9999"),
    "check": ("check", "RUN"),
    "markdown": ("export", "RUN", "--format", "md"),
    "html": ("export", "RUN", "--format", "html"),
    "approve": ("approve", "RUN"),
    "json runs": ("runs", "--json"),
    "json handoffs": ("handoffs", "--json"),
    "json lines": ("export", "RUN", "--format", "jsonl"),
}
SIGNS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.attack("4.27")
def test_no_command_prints_a_sign_that_hides_or_steers_or_a_line_that_a_path_forged(
    home: Home, project: Path, run_id: str
) -> None:
    for name, words in PRINTED.items():
        done = home.run(*(run_id if word == "RUN" else word for word in words), cwd=project)
        assert "Traceback" not in done.stderr, name
        for text in (done.stdout, done.stderr):
            odd = {hex(ord(sign)) for sign in set(text) - {"\n"} if unicodedata.category(sign) in SIGNS}
            assert not odd, (name, odd)
            assert not any(sign * 6 in text for sign in "\u0301\u093f\u0e38") or "json" in name, name
            forged = [line for line in text.splitlines() if line.startswith("+forged line")]
            assert not forged or name in ("markdown", "html"), (name, forged)  # there, the model's own text has lines
