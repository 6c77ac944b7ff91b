"""Data tables, read by several threads at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROUNDS = 1_500
"""Without a lock, a process lives through a few hundred of them."""
_PROGRAM = """
import sys, threading
from pathlib import Path
import msgspec
from rundry.agent.host.toml_tables import read_table

file, rounds = Path(sys.argv[1]), int(sys.argv[2])
sys.setswitchinterval(1e-6)
for _ in range(rounds):
    part = msgspec.defstruct("Part", [("x", list[str]), ("y", str, "")])
    whole = msgspec.defstruct("Whole", [("a", str), ("b", dict[str, part]), ("c", int | None, None)])
    start, found = threading.Barrier(2), []

    def read():
        start.wait()
        found.append(read_table(file, whole).b["one"].x)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["z"], ["z"]], found
"""


def test_two_threads_that_read_a_table_for_the_first_time_do_not_crash_the_process(tmp_path: Path):
    file = tmp_path / "table.toml"
    file.write_text('a = "x"\n[b.one]\nx = ["z"]\n')
    done = subprocess.run([sys.executable, "-c", _PROGRAM, file, str(ROUNDS)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
