"""Review real diffs with planted defects, and count the findings that are right and wrong.

    RUNDRY_REVIEWS=FOLDER python -m bench review                          # a scripted reviewer
    RUNDRY_REVIEWS=FOLDER python -m bench review --model NAME --base URL --cases 5 --seconds 120

FOLDER has the git directories of the projects. The scripted reviewer knows where the defect is: it finds it with a
chance in each look, invents findings with another, and its verifiers are wrong with a third. So its row says what
lenses, verifiers and passes make of such answers, and nothing about a model.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from fakes.reviewing import Reviewer, found
from fakes.turns import Turn, call

from .cases import Case, all_cases, make, mirror_of

SEES, INVENTS, ERRS = 0.5, 0.25, 0.2
"""Chances of the scripted reviewer: a look finds the defect; it invents a finding; a verifier is wrong."""
_LENS = {
    "off by one": "logic",
    "wrong condition": "logic",
    "missing error handling": "errors",
    "resource leak": "resources",
    "injection": "security",
}
_LINE = re.compile(r"^ *(\d+) \+ \S", re.MULTILINE)
_EVIDENCE = re.compile(r"Evidence: ([^\s:]+):(\d+)")
_FILE = re.compile(r"^file (\S+), ", re.MULTILINE)


class Scripted(Reviewer):
    """Plays a reviewer that sees some of what is there and some of what is not."""

    def __init__(self, case: Case, seed: int) -> None:
        super().__init__({}, keeps_requests=False)
        self._case, self._rng, self.invented = case, random.Random(seed), 0

    def _report(self, lens: str, prompt: str) -> Turn:
        findings = list[dict[str, str]]()
        if lens == _LENS[self._case.kind] and self._rng.random() < SEES:
            findings.append(found("PLANTED", f"{self._case.path}:{self._case.line}", self._case.kind))
        if self._rng.random() < INVENTS and (place := self._somewhere(prompt)) is not None:
            self.invented += 1
            findings.append(found(f"invented {self.invented}", place, "it looks odd"))
        self.lenses = {lens: findings}
        return super()._report(lens, prompt)

    def _somewhere(self, prompt: str) -> str | None:
        block = prompt[prompt.rfind("<diff>") :]
        files = list(_FILE.finditer(block))
        if not files:
            return None
        file = self._rng.choice(files)
        end = next((one.start() for one in files if one.start() > file.start()), len(block))
        lines = [int(number) for number in _LINE.findall(block[file.start() : end])]
        near = [n for n in lines if file[1] != self._case.path or abs(n - self._case.line) > 2]
        return f"{file[1]}:{self._rng.choice(near)}" if near else None

    def _next(self, body: dict[str, Any]) -> Turn:
        """Return the next turn. A verifier reads the cited file first: in a large project a search may not show it."""
        cited = _EVIDENCE.search(str(body["messages"][1].get("content")))
        if cited is not None and body["messages"][-1].get("role") == "user":
            return call("read_file", path=cited[1], start_line=max(1, int(cited[2]) - 20), end_line=int(cited[2]) + 20)
        return super()._next(body)

    def choose(self, body: dict[str, Any]) -> Turn:
        if "Try to refute it" in str(body["messages"][0].get("content")):
            is_true = "PLANTED" in str(body["messages"][1].get("content")).partition("\n")[0]
            is_wrong = self._rng.random() < ERRS
            return call("judge", verdict="stands" if is_true != is_wrong else "refuted", reason="looked")
        return super().choose(body)


@dataclass(frozen=True)
class Result:
    case: Case
    exit_code: int
    reason: str
    was_reported: bool
    was_confirmed: bool
    confirmed_else: int
    """Confirmed findings about the diff at other lines. With a real model, a person has to look at them."""
    reported_else: int
    steps: int
    seconds: float


def review(case: Case, mirror: Path, argv: Sequence[str], seconds: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="rundry-review-") as temp:
        folder = Path(temp) / "project"
        make(case, mirror, folder)
        env = {**os.environ, "HOME": temp, "RUNDRY_RUNS_DIR": f"{temp}/runs"}
        began = time.monotonic()
        program = str(Path(sys.executable).with_name("rundry"))
        done = subprocess.run(
            [program, "review", "--headless", "--json", "--time", f"{seconds}s", *argv],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
        )
        events = [json.loads(line) for line in done.stdout.splitlines()]
        took = time.monotonic() - began
    assert events, done.stderr
    reported = {event["key"]: event for event in events if event["type"] == "finding_reported"}
    judged = [event for event in events if event["type"] == "finding_judged"]
    confirmed = {event["key"] for event in judged if event["verdict"] == "confirmed"}
    here = {key for key, event in reported.items() if _is_here(case, event["evidence"])}
    about = {key for key, event in reported.items() if event["relation"] != "outside"}
    ended = events[-1]
    return Result(
        case,
        done.returncode,
        ended["reason"],
        bool(here),
        bool(here & confirmed),
        len((confirmed & about) - here),
        len(about - here),
        ended["steps"],
        took,
    )


def _is_here(case: Case, evidence: str) -> bool:
    place = re.fullmatch(r"(.+?):(\d+)(?:-(\d+))?", evidence.strip())
    if place is None or place[1] != case.path:
        return False
    return int(place[2]) - 1 <= case.line <= int(place[3] or place[2]) + 1


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench review", description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a real model; default: the scripted reviewer")
    parser.add_argument("--base", help="its server")
    parser.add_argument("--cases", type=int, help="only the first N of each kind")
    parser.add_argument("--seconds", type=int, default=120, help="limit of one review")
    parser.add_argument("--out", type=Path, help="write a row of JSON for each review")
    given = parser.parse_args(argv)
    place = os.environ.get("RUNDRY_REVIEWS")
    if not place or not Path(place).is_dir():
        print("skipped: RUNDRY_REVIEWS does not name a folder with the projects (see tests/bench/review/cases.toml)")
        return 0
    results = list[Result]()
    seen = Counter[str]()
    for number, case in enumerate(all_cases()):
        seen[case.kind] += 1
        mirror = mirror_of(case, Path(place))
        if mirror is None or (given.cases and seen[case.kind] > given.cases):
            continue
        if given.model:
            results.append(review(case, mirror, ["--model", given.model, "--api-base", given.base], given.seconds))
        else:
            with Scripted(case, number) as server:
                base = ["--model", "fake", "--api-base", server.base_url, "--steps", "none", "--tokens", "none"]
                results.append(review(case, mirror, base, given.seconds))
        one = results[-1]
        print(f"{case.kind:<24}{case.repo:<24}{case.commit[:10]} {one.reason:<8}{_words(one)}", flush=True)
    _print(results)
    if given.out is not None:
        rows = ({**vars(result), "case": msgspec.structs.asdict(result.case)} for result in results)
        given.out.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return 0


def _words(one: Result) -> str:
    how = "confirmed" if one.was_confirmed else "refuted" if one.was_reported else "not found"
    others = f"{one.confirmed_else} of {one.reported_else} others confirmed"
    return f"{how:<10} {others}, {one.steps} steps, {one.seconds:.0f} s"


def _print(results: Sequence[Result]) -> None:
    print()
    kinds = [*dict.fromkeys(result.case.kind for result in results), ""]
    for kind in kinds:
        rows = [result for result in results if kind in ("", result.case.kind)]
        if not rows:
            continue
        reported, confirmed = sum(r.was_reported for r in rows), sum(r.was_confirmed for r in rows)
        others, false = sum(r.reported_else for r in rows), sum(r.confirmed_else for r in rows)
        share = f"{false / others:.0%}" if others else "-"
        dry = sum(r.reason == "dry" for r in rows)
        print(
            f"{kind or 'all':<24}{len(rows):>3} diffs  reported {reported:>3}  confirmed {confirmed:>3} "
            f"({confirmed / len(rows):.0%})  confirmed falsely {false} of {others} ({share})  dry {dry}"
        )
