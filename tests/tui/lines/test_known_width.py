from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from rundry.tui.text.emoji_clusters import at_known_width
from rundry.tui.text.show_text import one_line, show

JOINED = [
    "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👩🏽\u200d💻", "❤\ufe0f", "⚠\ufe0f", "☎\ufe0e",
    "1\ufe0f\u20e3", "👍🏽", "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001fae9", "🥺", "✅", "❤", "♂\ufe0f",
]  # fmt: skip
WRITTEN = ["plain", "界面 字", "e\u0301", "क्षि", "நி", "กำ", "한국어", "ᄒ\u1161\u11ab", "│ ─ ▐"]

ASK = """
import json, os, sys, termios, tty
from rich.cells import cell_len
from rundry.tui.text.emoji_clusters import at_known_width
texts, out = json.loads(open(sys.argv[1]).read()), sys.argv[2]
tty.setraw(0)
found = []
for text in texts:
    os.write(1, b"\\x1b[2J\\x1b[1;1H" + at_known_width(text).encode() + b"\\x1b[6n")
    answer = b""
    while not answer.endswith(b"R"):
        answer += os.read(0, 1)
    found.append(int(answer[2:-1].split(b";")[1]) - 1)
with open(out + ".part", "w") as file:
    json.dump(found, file)
os.rename(out + ".part", out)
"""


@pytest.mark.parametrize("text", JOINED)
def test_joined_characters_are_shown_without_a_mark(text: str) -> None:
    assert show(f"a {text} b") == f"a {text} b"
    assert one_line(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass\u200dword", "pass⟨U+200D⟩word"),
        ("👩\u200dword", "👩⟨U+200D⟩word"),
        ("a\u200d👩", "a⟨U+200D⟩👩"),
        ("👩\u200d", "👩⟨U+200D⟩"),
        ("7\ufe0f7", "7⟨U+FE0F⟩7"),
        ("a\ufe0eb", "a⟨U+FE0E⟩b"),
        ("🏴\U000e0067\U000e0062x", "🏴⟨U+E0067⟩⟨U+E0062⟩x"),
        ("\U000e0067\U000e0062", "⟨U+E0067⟩⟨U+E0062⟩"),
    ],
)  # fmt: skip
def test_a_joiner_or_selector_that_joins_no_emoji_is_marked(text: str, shown: str) -> None:
    assert show(text) == shown


def test_text_without_joined_characters_is_written_unchanged() -> None:
    for text in ("\x1b[1mplain\x1b[0m", "╭─ ok ─╮ ✓ › 12", "naïve 界面"):
        assert at_known_width(text) == text


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_in_tmux_the_cursor_stands_where_the_layout_counts_it(tmp_path: Path) -> None:
    texts = [f"| {text} |" for text in JOINED + WRITTEN] + ["".join(JOINED[:6]) + " │"]
    (tmp_path / "texts").write_text(json.dumps(texts))
    (tmp_path / "ask.py").write_text(ASK)
    answer = tmp_path / "answer"
    argv = [sys.executable, str(tmp_path / "ask.py"), str(tmp_path / "texts"), str(answer)]
    tmux = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    subprocess.run([*tmux, "new-session", "-d", "-x", "100", "-y", "10", *argv], check=True, env=environment)
    try:
        end = time.monotonic() + 60
        while not answer.exists():
            assert time.monotonic() < end, "tmux did not answer"
            time.sleep(0.02)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
    columns = json.loads(answer.read_text())
    assert columns == [cell_len(text) for text in texts], list(zip(texts, columns, strict=True))
