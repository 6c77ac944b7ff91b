"""`--repeat` and `--min-delta` with the real command: kept changes, stale passes, and failed measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Call, calls

NOISY = "python3 -c 'import os; print(float(open(\"score.txt\").read()) + os.urandom(1)[0] % 3 / 10)'"
"""The number in the file, or up to 0.2 more."""


def writes(number: object):
    return calls(
        Call("write_file", {"path": "score.txt", "content": f"{number}\n"}),
        Call("finish", {"answer": f"wrote {number}", "citations": ["score.txt"]}),
    )


def improve(home: Home, project: Path, numbers: Sequence[object], *more: str) -> Ran:
    (project / "score.txt").write_text("5\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A score")
    with ScriptedServer([writes(number) for number in numbers]) as server:
        argv = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        return home.run(*argv, "--headless", "--json", "--steps", str(len(numbers)), *more, cwd=project)


def verdicts(ran: Ran) -> list[str]:
    return [event["verdict"] for event in ran.of("pass_finished")]


def test_small_steps_are_kept_and_add_up_to_more_than_min_delta(home: Home, project: Path):
    numbers = [5.3, 5.6, 5.7, 5.8, 9]
    ran = improve(
        home,
        project,
        numbers,
        "--score",
        "cat score.txt",
        "--scope",
        "score.txt",
        "--min-delta",
        "0.5",
        "--patience",
        "2",
    )
    assert verdicts(ran) == ["kept"] * 4, ran.story()
    assert [event["stale_passes"] for event in ran.of("score_measured")] == [0, 1, 0, 1, 2]
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau") and (project / "score.txt").read_text() == "5.8\n"


def test_the_median_of_an_even_number_of_measurements_is_compared(home: Home, project: Path):
    ran = improve(
        home, project, [6, 5.9, 4], "--score", NOISY, "--scope", "score.txt", "--repeat", "4", "--goal", "max"
    )
    measured = ran.of("score_measured")
    assert [len(event["values"]) for event in measured] == [4] * 4, ran.story()
    assert all(event["score"] == median(event["values"]) for event in measured)
    best = [measured[0]["score"]]
    for event in measured[1:]:
        assert event["kept"] == (event["score"] > best[-1]), ran.story()
        best.append(max(best[-1], event["score"]))
    assert measured[1]["kept"] and not measured[1]["within_noise"] and not measured[3]["kept"]


def test_repeated_measurements_that_fail_are_neither_a_measurement_nor_a_plateau(home: Home, project: Path):
    fails = "grep -q 7 score.txt && exit 1; cat score.txt"
    ran = improve(
        home, project, [7, 77, 6], "--score", fails, "--scope", "score.txt", "--repeat", "3", "--patience", "2"
    )
    assert verdicts(ran) == ["unmeasured", "unmeasured"], ran.story()
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["retryable"]) == (75, "error", True), ran.story()
    assert (project / "score.txt").read_text() == "5\n"


BENCH = "import speed\nprint('score:', speed.run())\n"
AT_EXIT = "import atexit\natexit.register(print, {})\ndef run(): return 5\n"


@pytest.mark.parametrize("printed", ["1000", "'score: 1000'", "'\\nscore: 1000'"])
def test_what_measured_code_prints_at_its_exit_is_not_a_score(home: Home, project: Path, printed: str):
    (project / "speed.py").write_text("def run(): return 5\n")
    (project / "bench.py").write_text(BENCH)
    git(project, "add", ".")
    git(project, "commit", "-qm", "A benchmark")
    cheat = calls(
        Call("write_file", {"path": "speed.py", "content": AT_EXIT.format(printed)}),
        Call("finish", {"answer": "faster", "citations": ["speed.py"]}),
    )
    with ScriptedServer([cheat]) as server:
        argv = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
        options = [
            "--score",
            "python3 bench.py",
            "--scope",
            "speed.py",
            "--goal",
            "max",
            "--steps",
            "1",
            "--headless",
            "--json",
        ]
        ran = home.run(*argv, *options, cwd=project)
    assert verdicts(ran) == ["unmeasured"], ran.story()
    assert "first measurement" in ran.of("score_not_measured")[0]["why"]
    assert [event["score"] for event in ran.of("score_measured")] == [5]
    assert (project / "speed.py").read_text() == "def run(): return 5\n"
    assert any("to which the measured code can write" in line for line in ran.outcome["evidence"]["not_guaranteed"])
