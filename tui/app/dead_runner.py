"""Report in the main screen that the runner died: what was in progress, and the next step."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.widgets import Static

from rundry.agent import ViewState, plural

from ..keys.clicks import clickable
from ..text.show_text import one_line

_MOST = 3
"""Number of works in progress that are listed; the rest is counted."""


class GoneNotice(Static):
    """Two or three rows above the message box, while a run that has not ended has no runner."""

    DEFAULT_CSS = """
    GoneNotice { height: auto; padding: 0 1; display: none; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._said: tuple[str, ...] = ()

    def show(self, state: ViewState, *, is_gone: bool, key: str) -> None:
        """Show or hide the notice. `key`: the key that resumes the run; it is empty if the view cannot resume it."""
        self.display = is_gone
        if not is_gone:
            self._said = ()
            return
        flights = list(in_flight(state))
        shown = flights[:_MOST] + ([f"and {len(flights) - _MOST} more"] if len(flights) > _MOST else [])
        said = (*shown, state.run_id, key)
        if said == self._said:
            return
        self._said = said
        what = "; ".join(one_line(line) for line in shown) or "nothing: the run was idle"
        resumes = (
            [
                clickable(Content.styled(key, "bold $needs-you"), "pause"),
                clickable(Content(" resumes it"), "pause"),
                ", or ",
                (f"rundry resume {one_line(state.run_id)}", "$foreground"),
            ]
            if key
            else [(f"rundry resume {one_line(state.run_id)}", "$foreground"), " resumes it"]
        )
        self.update(
            Content("\n").join(
                [
                    Content.assemble(
                        ("▌ The runner is gone", "bold $verdict-bad"),
                        "  it was killed or it crashed; everything above is kept",
                    ),
                    Content.assemble(("▌ ", "$verdict-bad"), ("in flight  ", "$dim"), what),
                    Content.assemble(("▌ ", "$verdict-bad"), *resumes),
                ]
            )
        )


def in_flight(state: ViewState) -> Iterator[str]:
    """Yield a few words for each thing that the runner had begun and not ended."""
    for opened in state.proposals.values():
        of_command = f"changes of {opened.effects.command}" if opened.effects is not None else None
        yield f"waited at the gate: {opened.path or opened.command or opened.url or of_command or opened.tool}"
    if state.question is not None:
        yield f"asked you: {state.question.question}"
    for index in state.at_call.values():
        block = state.blocks[index]
        if block.status == "running":
            yield f"{block.title}, result unknown"
    kinds = {kind for _, kind in state.growing}
    if "check" in kinds:
        yield "the check"
    for work in state.admitted:
        of = f" on {work}" if work else f", step {state.step}" if state.step is not None else ""
        yield f"the model was {'writing' if (work, 'text') in state.growing else 'thinking'}{of}"
    if state.queue:
        yield f"{plural(len(state.queue), 'message')} in the queue"
