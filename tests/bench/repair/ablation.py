"""Measure which way of asking repairs most programs: one factor at a time, with a real model.

    cd tests && python -m bench.repair.ablation --tasks FOLDER --base URL --model NAME --out rows.jsonl

FOLDER holds a folder for each task in which `python -m pytest` fails; TASKS names the ones that are used. First all
formats run; then, for the two that repaired most, one other factor changes at a time; then the same with another seed.
A row is written as soon as a trial ends, and a trial whose row exists is not repeated, so the script can be stopped and
started again. With `--table`, nothing runs: the rows become a table.

A trial's seconds are counted, not measured: tokens that were read and written at fixed speeds, and the time of checks.
So a row says the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rundry.agent.protocol import EditFormat
from rundry.agent.step.formats.format_words import SCHEMA, first_failure, last_line
from rundry.agent.step.formats.merge_definitions import same_program
from rundry.agent.step.formats.read_answer import ShownFile, is_complete, read_answer

from .prompts import FORMATS, SYSTEM, TOOLS, Variant, as_file_format, first_prompt, next_prompt
from .tasks import Task, append_row, read_rows

TASKS = ("bitcount", "detect_cycle", "find_in_sorted", "gcd", "kth", "longest_common_subsequence", "pascal", "sieve")
"""Four that other harnesses repaired with the first answer, two that one of them did, and two that none did."""
SEEDS = (1, 2)
SECONDS = 100.0
"""Of one trial, checks included."""
READ, WRITTEN = 80.0, 12.0
"""Tokens per second of Qwen2.5-Coder-1.5B (q8) on llama.cpp's server with two idle cores."""
TEMPERATURES = (0.0, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Setting:
    """One way of asking; the defaults are what the other ways are compared with."""

    form: EditFormat = "whole"
    variant: Variant = "code"
    first_temperature: float = 0.0
    follows: str = "restart"
    """`restart`: each try is a new conversation; `continue`: the same one, with the failure."""
    base: str = "start"
    """`start`: each try begins with the original program; `best`: every second one with the best program so far."""
    tried: bool = False
    """Whether a prompt names what earlier tries led to."""

    @property
    def name(self) -> str:
        changed = [f"{k}={v}" for k, v in asdict(self).items() if k != "form" and v != getattr(Setting(), k)]
        return " ".join([self.form, *changed])


def others(form: EditFormat) -> list[Setting]:
    """Return the settings of a format with one factor changed."""
    start = Setting(form=form)
    return [
        replace(start, variant="cause"),
        replace(start, variant="test"),
        replace(start, first_temperature=0.4),
        replace(start, follows="continue"),
        replace(start, base="best"),
        replace(start, tried=True),
    ]


class Server:
    """A chat completion server that is asked with streams, so that an answer can be cut at its end."""

    def __init__(self, base: str, model: str) -> None:
        self._url, self._model = f"{base}/chat/completions", model

    def ask(
        self,
        form: EditFormat,
        shown: ShownFile,
        messages: list[dict[str, str]],
        temperature: float,
        seed: int,
        limit: int,
    ) -> tuple[str, dict[str, Any]]:
        """Return the text of an answer, with its calls as JSON, and figures. Ends where the answer is complete."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": limit,
            "stream": True,
            "timings_per_token": True,
        }
        if form == "tools":
            body["tools"] = TOOLS
        if form == "constrained":
            schema = {"name": "edit", "schema": SCHEMA, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json", "Authorization": "Bearer x"}
        )
        began, text, calls = time.monotonic(), "", dict[int, list[str]]()
        first, timings = None, dict[str, Any]()
        with urllib.request.urlopen(request, timeout=300) as answer:
            for raw in answer:
                if not raw.startswith(b"data: ") or raw.startswith(b"data: [DONE]"):
                    continue
                chunk = json.loads(raw[6:])
                timings = chunk.get("timings") or timings
                delta = chunk["choices"][0]["delta"] if chunk.get("choices") else {}
                for call in delta.get("tool_calls") or []:
                    kept = calls.setdefault(call.get("index", 0), ["", ""])
                    kept[0] += call["function"].get("name") or ""
                    kept[1] += call["function"].get("arguments") or ""
                text += delta.get("content") or ""
                if delta.get("content") or delta.get("tool_calls"):
                    first = first or time.monotonic()
                if form != "tools" and is_complete(as_file_format(form), text, shown):
                    break
        ended = time.monotonic()
        figures = {"reading": round((first or ended) - began, 2), "writing": round(ended - (first or ended), 2)}
        tokens = {"read": "prompt_n", "cached": "cache_n", "written": "predicted_n"}
        figures |= {name: timings.get(key, 0) for name, key in tokens.items()}
        made = [f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}' for name, arguments in calls.values()]
        return "\n".join([text, *made]), figures


def trial(server: Server, task: Task, setting: Setting, seed: int) -> dict[str, Any]:
    """Repair one program within the time. Return the row."""
    began = time.monotonic()
    _, best_passed, output = task.check(task.program)
    seconds = time.monotonic() - began
    start = best = (task.program, first_failure(output))
    seen, answers, tried = {same_program(task.program)}, list[dict[str, Any]](), list[str]()
    messages, base, problem = list[dict[str, str]](), task.program, ""
    solved = False
    while not solved and seconds < SECONDS:
        number = len(answers)
        if setting.follows == "restart" or not messages:
            base, failure = best if setting.base == "best" and number % 2 else start
            shown = ShownFile(task.name, base)
            known = tried if setting.tried else []
            said = first_prompt(setting.form, setting.variant, shown, failure, task.test, known, problem)
            messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": said}]
        shown = ShownFile(task.name, base)
        row = {"temperature": max(setting.first_temperature, TEMPERATURES[min(number, len(TEMPERATURES) - 1)])}
        if setting.form == "tools":
            row["temperature"] = min(0.4, row["temperature"])
        limit = 200 + 2 * len(task.program) // 3
        text, figures = server.ask(setting.form, shown, messages, row["temperature"], seed * 100 + number, limit)
        seconds += figures["read"] / READ + figures["written"] / WRITTEN
        found = read_answer(as_file_format(setting.form), text, shown)
        row |= {**figures, "why": found.problem}
        passed, failure, problem = 0, "", found.problem
        if found.text is not None:
            key = same_program(found.text)
            row["duplicate"] = key in seen
            if key in seen:
                problem = "It is the same program as that of an earlier answer, which did not pass the check."
            else:
                seen.add(key)
                checking = time.monotonic()
                solved, passed, output = task.check(found.text)
                row |= {"check": round(time.monotonic() - checking, 2), "passed": passed}
                seconds += row["check"]
                failure = first_failure(output)
                tried.append(last_line(output))
                if passed > best_passed:
                    best, best_passed = (found.text, failure), passed
        answers.append(row)
        if setting.follows == "continue":
            messages += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": next_prompt(setting.form, shown, problem, failure)},
            ]
            base = found.text or base
    return {
        "setting": asdict(setting),
        "task": task.folder.name,
        "seed": seed,
        "solved": solved and seconds <= SECONDS,
        "seconds": round(seconds, 1),
        "measured": round(time.monotonic() - began, 1),
        "answers": answers,
    }


def planned(rows: list[dict[str, Any]]) -> Iterator[tuple[Setting, str, int]]:
    """Yield the trials in order: for each seed all formats, then the other factors of the formats that were the two
    best with the first seed.
    """
    for seed in SEEDS:
        yield from ((Setting(form=form), task, seed) for task in TASKS for form in FORMATS)
        best = sorted(FORMATS, key=lambda form: _score(rows, Setting(form=form), SEEDS[0]), reverse=True)[:2]
        changed = [one for pair in zip(*map(others, best), strict=True) for one in pair]
        yield from ((one, task, seed) for one in changed for task in TASKS)


def _key(setting: dict[str, Any], task: str, seed: int) -> tuple[str, str, int]:
    return json.dumps(setting), task, seed


def _of(rows: list[dict[str, Any]], setting: Setting) -> list[dict[str, Any]]:
    return [row for row in rows if row["setting"] == asdict(setting)]


def _score(rows: list[dict[str, Any]], setting: Setting, seed: int) -> tuple[int, float]:
    found = [row for row in _of(rows, setting) if row["seed"] == seed]
    return sum(row["solved"] for row in found), -sum(row["seconds"] for row in found)


def table(rows: list[dict[str, Any]]) -> str:
    """Return a table in Markdown, one line for each setting that ran."""
    lines = [
        "| setting | trials | solved | tasks | s to solve | answers | usable | duplicates | written | cached later |"
    ]
    lines.append("|" + " --- |" * 10)
    settings = list(dict.fromkeys(Setting(**row["setting"]) for row in rows))
    for setting in settings:
        found = _of(rows, setting)
        answers = [answer for row in found for answer in row["answers"]]
        solved = [row for row in found if row["solved"]]
        seconds = f"{statistics.median(row['seconds'] for row in solved):.0f}" if solved else "-"
        usable = sum("duplicate" in answer for answer in answers) / max(1, len(answers))
        again = sum(answer.get("duplicate", False) for answer in answers) / max(1, len(answers))
        written = statistics.mean(answer.get("written", 0) for answer in answers) if answers else 0
        later = [answer for row in found for answer in row["answers"][1:]]
        read = sum(answer["read"] + answer["cached"] for answer in later)
        cached = f"{sum(answer['cached'] for answer in later) / read:.0%}" if read else "-"
        lines.append(
            f"| {setting.name} | {len(found)} | {len(solved)} | {len({row['task'] for row in solved})} | {seconds} "
            f"| {len(answers) / max(1, len(found)):.1f} | {usable:.0%} | {again:.0%} | {written:.0f} | {cached} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--base")
    parser.add_argument("--model")
    parser.add_argument("--hours", type=float, default=5.0, help="stop after this much counted time in all rows")
    parser.add_argument("--at-once", type=int, default=1, help="trials at the same time, as many as the server's slots")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    rows = read_rows(asked.out)
    if asked.table:
        print(table(rows))
        return
    if None in (asked.tasks, asked.base, asked.model):
        parser.error("--tasks, --base and --model are needed")
    server = Server(asked.base, asked.model)
    lock, begun = threading.Lock(), {_key(row["setting"], row["task"], row["seed"]) for row in rows}

    def work() -> None:
        while True:
            with lock:
                left = (one for one in planned(rows) if _key(asdict(one[0]), *one[1:]) not in begun)
                one = next(left, None)
                if one is None or sum(row["seconds"] for row in rows) > asked.hours * 3600:
                    return
                begun.add(_key(asdict(one[0]), *one[1:]))
            setting, name, seed = one
            row = trial(server, Task(asked.tasks / name), setting, seed)
            with lock:
                rows.append(row)
                append_row(asked.out, row)
            end = "solved" if row["solved"] else "not solved"
            print(
                f"{setting.name}  {name} {seed}: {end}, {row['seconds']} s, {len(row['answers'])} answers", flush=True
            )

    workers = [threading.Thread(target=work) for _ in range(asked.at_once)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(table(rows))


if __name__ == "__main__":
    main()
