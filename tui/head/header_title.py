"""The first line: the task on the left, and the loop, the model and the phase on the right. Does not import textual."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import plural, title_of

from ..control.review_words import staged_words
from ..text.shorten_cells import cells_cut
from .meters import NO_MODEL, Piece, PieceKind

if TYPE_CHECKING:
    from rundry.agent import ViewState

SCRIPTED = "demo/"


def model_name(model: str) -> str:
    """Return `qwen3:8b` for `ollama_chat/qwen3:8b`; for a scripted model, that it is scripted."""
    if model.startswith(SCRIPTED):
        return "demo, scripted"
    return model.rsplit("/", 1)[-1]


def arrange_title(state: ViewState, width: int, phase: str) -> list[Piece]:
    """Return the pieces of the line for `width` cells. The task is shortened, never the phase."""
    left = Piece("rundry", "brand")
    task = title_of(state.task) or ("" if state.run_id else home_relative(state.workspace))
    for shown in (
        ("loop", "goal", "model", "effort", "local", "held"),
        ("loop", "model", "effort", "local", "held"),
        ("loop", "model", "local", "held"),
        ("loop", "model", "local"),
        ("model", "local"),
        ("model",),
        (),
    ):
        right = _right(state, phase, shown)
        size = sum(len(piece.text) for piece in right)
        room = width - len(left.text) - size - 6
        if room >= min(len(task), 24) or not shown:
            break
    else:
        right, room = [], 0
    if len(task) > room:
        task = task[: max(0, room - 1)] + "…" if room > 1 else ""
    used = len(left.text) + 2 + len(task) + size
    gap = Piece(" " * max(1, width - used - 2), "gap")
    return [left, Piece("  ", "gap"), Piece(task, "task"), gap, *right]


def home_relative(path: str) -> str:
    """Return a path with `~` for the user's home."""
    home = str(Path.home())
    return "~" + path.removeprefix(home) if path == home or path.startswith(home + "/") else path


def doing(state: ViewState, phase: str) -> str:
    """Return the phase; for a search in progress, `pass 14  8 in flight`."""
    finder, search = state.finder, state.search
    if finder is None or search is None or phase not in ("thinking", "streaming", "running"):
        return phase
    flights = f"{len(finder.flights)}".rjust(len(str(search.concurrency))) + " in flight"
    return f"pass {finder.pass_number}  {flights}" if finder.lenses else flights


def _right(state: ViewState, phase: str, shown: tuple[str, ...]) -> list[Piece]:
    parts: list[list[Piece]] = []
    if "loop" in shown and state.loop is not None:
        name = state.loop.value.replace("-", " ")
        if state.parent is not None:
            name = f"child {state.parent.number}"
        words = [Piece(name, "loop")]
        if state.search is not None and state.finder is not None and state.finder.lenses:
            words.append(Piece(f"  {plural(state.search.dry_passes, 'pass')}", "goal"))
        if "goal" in shown and state.goals:
            words += [Piece("  ", "gap"), Piece(cells_cut(state.goals[0], 32), "goal")]
        parts.append(words)
    if "model" in shown and state.model and state.model != NO_MODEL:
        words = [Piece(cells_cut(model_name(state.model), 28), "model", "model")]
        if "effort" in shown and state.effort:
            words.append(Piece(f" {state.effort}", "goal", "effort"))
        if "local" in shown and state.local and not state.model.startswith(SCRIPTED):
            words.append(Piece(" local", "goal"))
        parts.append(words)
    if state.run_id and (held := _held(state, whole="held" in shown)):
        parts.append([held])
    if staged := staged_words(state):
        parts.append([Piece(staged, "number", "apply")])
    parts += _try(state)
    parts.append([_phase(state, phase)])
    line: list[Piece] = []
    for words in parts:
        if line:
            line.append(Piece("   ", "gap"))
        line += words
    return line


def _phase(state: ViewState, phase: str) -> Piece:
    if phase == "waiting for you":
        return Piece(phase, "waiting", "to_gate" if state.proposals else "")
    kind: PieceKind = "waiting" if phase.endswith("waits for you") else "phase"  # a child run
    return Piece(doing(state, phase), kind, "wake" if state.sleeping is not None or state.awaits else "")


def _try(state: ViewState) -> list[list[Piece]]:
    return [[Piece(state.try_words, "goal")]] if state.try_words else []


def _held(state: ViewState, *, whole: bool) -> Piece | None:
    """Return the sandbox, in full if there is room. That there is none, or that it has gaps, is always shown."""
    if state.sandbox is None:
        return Piece("unsandboxed", "amber")
    gaps = ["direct"] if state.direct else []
    gaps += ["network open"] if state.network else []
    gaps += [f"{len(state.not_held)} not held"] if state.not_held else []
    if gaps:
        return Piece(", ".join([state.sandbox, *gaps]) if whole else gaps[0], "amber")
    return Piece(state.sandbox, "goal") if whole else None
