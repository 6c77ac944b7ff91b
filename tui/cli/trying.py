"""Try out a model with `rundry models --try NAME`, and print what was found. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from rundry.agent import (
    FormatResult,
    ModelTrial,
    Trial,
    UserError,
    borrowed_pool,
    load_settings,
    money,
    open_trial,
)

from ..text.json_out import print_json
from ..text.show_text import one_line

_FIRST, _SECOND = 15, 8
"""Widths of the first columns."""
_NARROWEST = 40


def try_out(flags: Mapping[str, object], *, as_json: bool, yes: bool) -> int:
    """Try out the model of the flags. Return 0, or 1 if no edit format led to a right answer. Raises RundryError."""
    spec = load_settings(flags, cwd=Path("/"), env=os.environ, trust=False).model()
    assert spec is not None  # the flags name it

    async def work() -> Trial:
        async with borrowed_pool():
            trial = await open_trial(spec, os.environ)
            _refuse_unasked_cost(trial, yes=yes)
            await _run(trial, shows=sys.stderr.isatty() and not as_json)
            trial.remember()
            return trial.result

    result = asyncio.run(work())
    if as_json:
        print_json(result)
    else:
        for line in trial_lines(result, shutil.get_terminal_size().columns):
            print(one_line(line))
    return 0 if result.recommended else 1


def _refuse_unasked_cost(trial: ModelTrial, *, yes: bool) -> None:
    """Raise UserError for a model that costs money, or may, if the person has not agreed."""
    if trial.is_free or yes:
        return
    worst = trial.worst_usd()
    if worst is None:
        raise UserError(f"the price of {trial.result.model} is unknown: add --yes to try it, whatever it costs")
    raise UserError(f"trying {trial.result.model} can cost up to {money(worst)} USD: add --yes to try it")


async def _run(trial: ModelTrial, *, shows: bool) -> None:
    """Run the trial; `shows`: one line on stderr says what is tried now, and is gone at the end."""
    began = time.monotonic()
    try:
        async for now in trial.run():
            if shows:
                line = one_line(f"trying {now} ({time.monotonic() - began:.0f} s)")
                sys.stderr.write(f"\r\x1b[K{line}")
                sys.stderr.flush()
    finally:
        if shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def trial_lines(result: Trial, columns: int) -> Iterator[str]:
    """Yield the lines of the result. The problem of a format is wrapped to the width."""
    served = result.served
    kind = f"{served.kind} at " if served is not None and served.kind and served.kind != "openai-compatible" else ""
    yield one_line(f"{result.model}  ({kind}{result.server})")
    yield ""
    yield f"{'edit format':<{_FIRST}}tasks"
    for found in result.formats:
        head = f"{found.format:<{_FIRST}}{_score(found):<{_SECOND}}"
        later = " " * (_FIRST + _SECOND)
        text = head + one_line(_problem(found))
        yield from textwrap.wrap(text, max(columns, _NARROWEST), subsequent_indent=later) or [head.rstrip()]
    yield ""
    for name, value in _facts(result):
        yield f"{name:<{_FIRST}}{value}"
    yield ""
    yield from _advice(result)


def _score(found: FormatResult) -> str:
    return f"{found.right} of {found.tried}" if found.tried else "-"


def _problem(found: FormatResult) -> str:
    if not found.tried:
        return found.problem or "not tried: the time was over"
    return "" if found.right == found.tried else found.problem


def _facts(result: Trial) -> Iterator[tuple[str, str]]:
    served = result.served
    if served is not None and served.parameters:
        yield "weights", _weights(served.parameters)
    if served is not None and served.template_knows_tools is not None:
        yield "chat template", "knows tools" if served.template_knows_tools else "does not know tools"
    yield "window", f"{result.window:,} tokens" if result.window else "unknown: name it with --context"
    yield "reads", _speed(result.read_speed)
    yield "writes", _speed(result.write_speed)
    cached = f"{result.cached:.0%} of a prompt that was extended" if result.cached is not None else "not reported"
    yield "prompt cache", cached
    usd = f", {money(result.usd)} USD" if result.usd else ""
    yield "used", f"{result.seconds:.0f} s, {result.tokens.total:,} tokens{usd}"


def _weights(count: int) -> str:
    return f"{count / 1e9:.1f} billion" if count >= 1e9 else f"{count / 1e6:.0f} million"


def _speed(speed: float | None) -> str:
    if speed is None:
        return "not measured"
    return f"{speed:,.0f} tokens a second" if speed >= 10 else f"{speed:.1f} tokens a second"


def _advice(result: Trial) -> Iterator[str]:
    if result.recommended is None:
        if result.is_complete:
            yield "No edit format led to a right answer: try a larger model."
        else:
            yield "The server was too slow for a trial: try again when it is idle."
        return
    yield f"Recommended: --edit-format {result.recommended}"
    if result.is_complete:
        yield "The next run with this model on this server uses it."
    else:
        yield "Not remembered: the time was over before each format was tried."
