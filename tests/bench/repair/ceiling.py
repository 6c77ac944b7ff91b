"""Find out which programs a model can repair at all: many answers to the original program, in all formats.

    cd tests && python -m bench.repair.ceiling --tasks FOLDER --base URL --model NAME --out rows.jsonl

Formats, prompts and temperatures take turns. A program counts with the first answer that passes the original tests. A
row is written for each program, and a program whose row exists is not tried again.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rundry.agent.protocol import FILE_FORMATS
from rundry.agent.step.formats.format_words import first_failure
from rundry.agent.step.formats.merge_definitions import same_program
from rundry.agent.step.formats.read_answer import ShownFile, read_answer

from .ablation import TEMPERATURES, Server
from .prompts import SYSTEM, Variant, first_prompt
from .tasks import Task, append_row, read_rows, tasks_in

SAMPLES = 40
VARIANTS: tuple[Variant, ...] = ("code", "test", "cause")


def sample(server: Server, task: Task, most: int) -> dict[str, Any]:
    """Return the row of one program: the number of the answer that repairs it, and how that was asked for."""
    failure = first_failure(task.check(task.program)[2])
    shown, seen = ShownFile(task.name, task.program), {same_program(task.program)}
    row: dict[str, Any] = {"task": task.folder.name, "samples": 0, "programs": 0, "solved": False}
    for number in range(most):
        form, turn = FILE_FORMATS[number % len(FILE_FORMATS)], number // len(FILE_FORMATS)
        variant, temperature = VARIANTS[turn % len(VARIANTS)], TEMPERATURES[turn % len(TEMPERATURES)]
        said = first_prompt(form, variant, shown, failure, task.test, [], "")
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": said}]
        limit = 200 + 2 * len(task.program) // 3
        text, _ = server.ask(form, shown, messages, temperature, number, limit)
        row["samples"] = number + 1
        found = read_answer(form, text, shown)
        if found.text is None or same_program(found.text) in seen:
            continue
        seen.add(same_program(found.text))
        row["programs"] += 1
        if task.check(found.text)[0]:
            return row | {"solved": True, "format": form, "variant": variant, "temperature": temperature}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--base", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--only", default="", help="only these tasks, separated by commas")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--at-once", type=int, default=1, help="programs at the same time")
    asked = parser.parse_args()
    known = {row["task"] for row in read_rows(asked.out)}
    tasks = [
        one
        for one in tasks_in(asked.tasks, asked.only.split(",") if asked.only else [])
        if one.folder.name not in known
    ]
    server = Server(asked.base, asked.model)
    with ThreadPoolExecutor(asked.at_once) as pool:
        for row in pool.map(lambda task: sample(server, task, asked.samples), tasks):
            append_row(asked.out, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
