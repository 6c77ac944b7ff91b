"""What the first screen offers, as rows in sections. Does not import textual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rundry.agent import FREE, Candidate, KeyMissing, ModelSpec, Price, RunLine, Survey, candidates, short, title_of

from ..text.ages import age_words

MOST_MODELS = 5
"""Models listed on the first screen; the picker has all of them."""
CONTEXT, PRICES = "context", "USD/1M in/out"
"""Headings of the window of a model in tokens, and of its prices per million tokens (`price_words`)."""
CHECKS: Mapping[str, str] = {
    "pyproject.toml": "pytest -q",
    "setup.py": "pytest -q",
    "package.json": "npm test",
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "pom.xml": "mvn -q test",
    "build.gradle": "gradle test",
    "mix.exs": "mix test",
    "Gemfile": "bundle exec rake test",
}
"""A file in the workspace to the command that runs its tests."""


@dataclass(frozen=True)
class UseModel:
    """Use this model and remember it."""

    model: ModelSpec


@dataclass(frozen=True)
class PickModel:
    """Open the picker with all models."""


@dataclass(frozen=True)
class RunDemo:
    """Leave this session and open the demo."""


@dataclass(frozen=True)
class Continue:
    """Resume this run."""

    run_id: str


@dataclass(frozen=True)
class Try:
    """Put this task into the message box."""

    task: str
    check: str = ""
    """The command that decides when the task is done, or an empty text."""


Choice = UseModel | PickModel | RunDemo | Continue | Try


@dataclass(frozen=True)
class Row:
    """One line that can be taken: the cells of its columns, the first of which is wide."""

    choice: Choice
    label: str
    cells: Sequence[str] = ()
    key: str = ""
    """The key that takes the row without the mark."""


@dataclass(frozen=True)
class Section:
    """Rows under a title, with a note below them."""

    title: str
    rows: Sequence[Row]
    note: str = ""
    """A line below the rows."""
    heads: Sequence[str] = ()
    """The headings of the columns of `cells`."""


def model_section(survey: Survey | None, chosen: ModelSpec | None, key: str) -> Section:
    """Return the models to choose from, the chosen one first. `survey` None: the search for models has not ended."""
    found = [] if survey is None else candidates(survey)
    rows = [_chosen(chosen, found)] if chosen is not None else []
    others = [each for each in found if each.is_suggested and not _is_same(each.model, chosen)]
    rows += [_model_row(each) for each in others[: MOST_MODELS - len(rows)]]
    numbered = [Row(row.choice, row.label, row.cells, str(n)) for n, row in enumerate(rows, 1)]
    numbered.append(Row(RunDemo(), "demo", ("scripted, no key",), str(len(rows) + 1)))
    if survey is None:
        return Section("Model", numbered, "looking for keys and local servers …", _HEADS)
    more = len(found) - len(rows)
    if more > 0:
        numbered.append(Row(PickModel(), f"{more} more", key=key))
    return Section("Model", numbered, _missing(survey.missing, rows, key), _HEADS)


_HEADS = ("", CONTEXT, PRICES)


def _is_same(model: ModelSpec, chosen: ModelSpec | None) -> bool:
    return chosen is not None and model.name == chosen.name


def _chosen(chosen: ModelSpec, found: Sequence[Candidate]) -> Row:
    known = next((each for each in found if _is_same(each.model, chosen)), None)
    if known is not None:
        return Row(UseModel(chosen), known.model.name.partition("/")[2] or known.model.name, _cells(known))
    provider, _, name = chosen.name.partition("/")
    return Row(UseModel(chosen), name or chosen.name, (chosen.api_base or (provider if name else ""),))


def _model_row(candidate: Candidate) -> Row:
    name = candidate.model.name.partition("/")[2] or candidate.model.name
    return Row(UseModel(candidate.model), name, _cells(candidate))


def _cells(candidate: Candidate) -> Sequence[str]:
    where = f"{candidate.source}, this machine" if candidate.is_local else candidate.source
    return (where, short(candidate.context) if candidate.context else "", price_words(candidate.price))


def price_words(price: Price | None) -> str:
    """Return USD per million tokens of input and output: `3.00 / 15.00`, `free`, or an empty string if unknown."""
    if price is None:
        return ""
    return "free" if price == FREE else f"{price.input * 1e6:.2f} / {price.output * 1e6:.2f}"


def _missing(missing: Sequence[KeyMissing], usable: Sequence[Row], key: str) -> str:
    direct = [row for row in missing if row.direct]
    if not usable and direct:
        return f"no key is set, no local server answers: {key} lists what each needs"
    if len(missing) == 1:
        return f"1 more provider needs a key: {key}"
    return f"{len(missing)} more providers need a key: {key}" if missing else ""


def continue_section(runs: Sequence[RunLine], now: float, key: str, more_key: str) -> Section | None:
    """Return the newest run of this folder that can be resumed; `now` in Unix seconds."""
    if not runs:
        return None
    newest = runs[0]
    ended = newest.reason.words if newest.reason is not None else newest.state
    row = Row(Continue(newest.run_id), title_of(newest.task), (ended, age_words(newest.started, now)), key)
    more = f"{len(runs) - 1} more: {more_key}" if len(runs) > 1 else ""
    return Section("Continue", [row], more)


def task_section(workspace: Path) -> Section:
    """Return three tasks to begin with."""
    check = next((command for name, command in CHECKS.items() if (workspace / name).is_file()), "")
    fix = Row(Try("fix the failing tests", check), "fix the failing tests", (f"until {check}",) if check else ())
    explain = Row(Try("explain this folder"), "explain this folder")
    review = "review the uncommitted changes"
    return Section("Try", [explain, fix, Row(Try(review), review)])
