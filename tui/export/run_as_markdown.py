"""Write a run as Markdown. Every foreign text is inside of code, so that it is not markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rundry.agent import title_of

from .export_facts import block_head, facts_of_run
from .markup import as_code, as_fence

if TYPE_CHECKING:
    from .read_run import Recorded


def markdown_lines(run: Recorded) -> Iterator[str]:
    """Yield the document, piece by piece."""
    state, hide = run.state, run.hide
    yield f"# {as_code(hide(title_of(state.task) or state.run_id))}"
    yield ""
    for name, value in facts_of_run(run):
        yield f"- {name}: {as_code(hide(value))}"
    step: int | None = None
    for block in state.blocks:
        if block.step is not None and block.step != step:
            step = block.step
            yield f"\n## Step {step}"
        yield ""
        if head := block_head(block):
            yield as_code(hide(head))
        for text, language in (
            (block.text, "text"),
            (block.whole_detail, "diff" if block.detail_kind == "diff" else "text"),
        ):
            if text.strip():
                yield ""
                yield as_fence(hide(text), language)
