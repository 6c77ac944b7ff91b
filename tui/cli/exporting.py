"""`rundry export`: a run as JSON Lines, or as a page to read. What models, files and tools said stays text in it."""

from __future__ import annotations

import html
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rundry.agent import (
    Block,
    Journal,
    UserError,
    ViewState,
    clock,
    evidence_words,
    exported,
    exported_lines,
    plural,
    reduce,
    short,
    try_label,
)

from ..setup.resuming import find_any
from ..text import one_line, show
from .options import ExportFormat

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1d2129; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; color: #5b6472; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dt { color: #5b6472; } dd { margin: 0; }
pre { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0;
  padding: .5rem .7rem; background: #f4f5f7; border-radius: 4px; }
p { margin: .3rem 0; white-space: pre-wrap; } summary { cursor: pointer; } .right { color: #5b6472; }
@media (prefers-color-scheme: dark) { body { background: #15171b; color: #d5d9e0; } pre { background: #1e2127; } }
""".strip()
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is loaded and nothing runs, whatever stood in the run."""
_NAMES = {"task": "Task", "say": "You", "steer": "You, immediately", "text": "Model", "reasoning": "Thought"}


def export(ref: str | None, flags: Mapping[str, object], *, kind: ExportFormat, output: str | None) -> int:
    """Write it to `output`, or to standard output. Raises RundryError."""
    journal = Journal.open(find_any(ref, flags))
    try:
        chunks = _chunks(journal, kind)
        if output is None or output == "-":
            for chunk in chunks:
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        else:
            _write(Path(output), chunks)
            print(f"{journal.spec.run_id}  written to {one_line(output)}")
    finally:
        journal.close()
    return 0


def _write(path: Path, chunks: Iterable[bytes]) -> None:
    """A file of its owner alone: it holds what the run read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(chunks)
    except FileExistsError:
        raise UserError(f"{path} already exists: give -o another name") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def _chunks(journal: Journal, kind: ExportFormat) -> Iterable[bytes]:
    match kind:
        case ExportFormat.JSONL:
            return exported_lines(journal)
        case ExportFormat.MARKDOWN:
            return _page(journal, _as_markdown)
        case ExportFormat.HTML:
            return _page(journal, _as_html)


def _page(journal: Journal, written: Callable[[ViewState, float], Iterator[str]]) -> Iterator[bytes]:
    state = ViewState()
    for stamped in exported(journal):
        reduce(state, stamped)
    began = float(journal.meta("created") or 0)
    for text in written(state, began):
        yield (text + "\n").encode(errors="backslashreplace")


def _facts(state: ViewState, began: float) -> Iterator[tuple[str, str]]:
    yield "run", state.run_id
    yield "loop", state.loop.value if state.loop is not None else "-"
    yield "model", state.model
    yield "workspace", state.workspace
    yield "began", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began))
    spent, ended = state.spent, state.outcome
    usd = "no price known" if spent.unpriced else f"{spent.usd:.4f} USD"
    held = f"; {short(spent.held_tokens)} tokens and {spent.held_usd:.4f} USD are held" if spent.held_tokens else ""
    yield "spent", f"{plural(spent.steps, 'step')}, {short(spent.tokens.total)} tokens, {usd}{held}"
    if ended is None:
        yield "outcome", "not ended"
        return
    whole = "complete" if ended.complete else "not complete"
    yield "outcome", f"{ended.reason.value}: {ended.detail} ({whole}, {clock(ended.seconds)})"
    if ended.evidence is not None:
        yield "evidence", evidence_words(ended.evidence)
        if ended.evidence.not_guaranteed:
            yield "not guaranteed", "; ".join(ended.evidence.not_guaranteed)
    if ended.files_changed:
        yield "files", ", ".join(ended.files_changed)


def _head(block: Block) -> str:
    """One line that says what the entry is."""
    parts = (try_label(block.work), _NAMES.get(block.kind, ""), block.title, block.status, block.right)
    return one_line("  ".join(part for part in parts if part))


def _as_markdown(state: ViewState, began: float) -> Iterator[str]:
    yield f"# {_inline(state.task or state.run_id)}"
    yield ""
    for name, value in _facts(state, began):
        yield f"- {name}: {_inline(value)}"
    step: int | None = None
    for block in state.blocks:
        if block.step is not None and block.step != step:
            step = block.step
            yield f"\n## Step {step}"
        yield ""
        if head := _head(block):
            yield _inline(head)
        for text, language in (
            (block.text, "text"),
            (block.whole_detail, "diff" if block.detail_kind == "diff" else "text"),
        ):
            if text.strip():
                yield ""
                yield _fenced(text, language)


def _inline(text: str) -> str:
    """As code, so that it is no markup, whatever stands in it."""
    line = one_line(" ".join(text.split()))
    if "`" not in line:
        return f"`{line}`" if line else ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def _fenced(text: str, language: str) -> str:
    shown = show(text).rstrip("\n")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0) if "```" in shown else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _as_html(state: ViewState, began: float) -> Iterator[str]:
    title = _escaped(one_line(" ".join((state.task or state.run_id).split())))
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>{title}</title><style>\n{_STYLE}\n</style></head><body>"
    yield f"<h1>{title}</h1>\n<dl>"
    for name, value in _facts(state, began):
        yield f"<dt>{name}</dt><dd>{_escaped(one_line(value))}</dd>"
    yield "</dl>"
    step: int | None = None
    for block in state.blocks:
        if block.step is not None and block.step != step:
            step = block.step
            yield f"<h2>Step {step}</h2>"
        yield from _entry(block)
    yield "</body></html>"


def _entry(block: Block) -> Iterator[str]:
    head, text, detail = _escaped(_head(block)), block.text.strip("\n"), block.whole_detail.strip("\n")
    if detail:
        yield f"<details><summary>{head}</summary>"
        yield f"<p>{_escaped(show(text))}</p>" if text.strip() else ""
        yield f"<pre>{_escaped(show(detail))}</pre></details>"
    elif text.strip():
        yield f'<p><span class="right">{head}</span></p><p>{_escaped(show(text))}</p>'
    else:
        yield f"<p>{head}</p>"


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
