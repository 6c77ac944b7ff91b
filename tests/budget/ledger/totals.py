"""What a ledger adds up after each event of a journal, as plain data that can be stored and compared.

`old_totals.json` was recorded with the fold of commit a5da082b, before decision 0041 made it one ledger:
`cd tests; ../.venv/bin/python -m budget.ledger.totals` writes it again, for a change that is meant.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from integrity.folds.early_journal import EARLY
from old_journals.opening import NAMES, unpack

from rundry.agent.budget.ledger import Ledger
from rundry.agent.budget.reserve import Reserve
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    CallAdmitted,
    Charged,
    ChildSpent,
    Event,
    Fault,
    GateMode,
    HoldReleased,
    LoopKind,
    ModelSwitched,
    Reason,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
    Spent,
    Stamped,
    StepFinished,
    StepStarted,
    Tokens,
    Unknown,
    decode_event,
)

STORED = Path(__file__).with_name("old_totals.json")
SEEDS = range(24)
_EVENTS = 400
_WORKS = (None, None, "item:1", "try:2")
_MODELS = ("small", "large", "")


def totals(ledger: Ledger) -> dict[str, Any]:
    """All figures of a ledger."""
    next_call = CallAdmitted(prompt_tokens=10, max_tokens=90, worst_tokens=100, worst_usd=0.25)
    return {
        "spent": _plain(ledger.spent),
        "since": _plain(ledger.since),
        "limited": _plain(ledger.limited),
        "limited with calls": _plain(ledger.left(Budget(), Reserve()).spent),
        "cut": _plain(ledger.cut),
        "counted": _rounded(ledger.counted().figures),
        "own": _rounded(ledger.counted_alone().figures),
        "counted with a call": _rounded(ledger.counted(next_call, "item:1").figures),
        "own with a call": _rounded(ledger.counted_alone(next_call, "item:1").figures),
        "admitted": sorted(str(work) for work in ledger.admitted),
        "holds": sorted(ledger.holds),
        "shares": _plain(ledger.shares),
        "margins": _plain(ledger.margins),
        "newest prompts": _plain(ledger.newest_prompts),
        "costs": _plain(ledger.costs),
    }


def totals_of(events: Sequence[Stamped]) -> dict[str, Any]:
    """The figures after the last event, and a digest of those after each one."""
    ledger, digest = Ledger(), hashlib.sha256()
    for stamped in events:
        ledger.apply(stamped)
        digest.update(json.dumps(totals(ledger), sort_keys=True).encode())
    return {"events": len(events), "after each": digest.hexdigest(), **totals(ledger)}


def all_totals(folder: Path) -> dict[str, Any]:
    """The figures of each stored journal, and of event sequences made by chance."""
    stored = {name: totals_of(_events_of(name, folder / name)) for name in NAMES}
    by_chance = {f"chance {seed}": _short(totals_of(by_chance_of(seed))) for seed in SEEDS}
    return {**stored, "early": totals_of(_early()), **by_chance}


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("events", "after each", "counted", "own", "holds")}


def by_chance_of(seed: int) -> list[Stamped]:
    """Events of all kinds that a ledger knows, also in an order that no run would record."""
    chance = random.Random(seed)
    loop = chance.choice([LoopKind.CHAT, LoopKind.GOAL])
    events: list[Stamped] = [Stamped(1, 0.0, None, None, _started(loop))]
    for seq in range(2, _EVENTS):
        events.append(Stamped(seq, float(seq), None, chance.choice(_WORKS), _event(chance, seq)))
    return events


def _event(chance: random.Random, seq: int) -> Event:
    tokens, usd = chance.randrange(5_000), chance.randrange(10**6) / 10**6
    match chance.randrange(14):
        case 0 | 1 | 2:
            return CallAdmitted(
                prompt_tokens=tokens, max_tokens=64, worst_tokens=tokens + 64, worst_usd=chance.choice([None, usd])
            )
        case 3 | 4 | 5:
            return _charged(chance, tokens, usd)
        case 6 | 7:
            return StepStarted(number=seq)
        case 8:
            return StepFinished(number=seq, seconds=usd * 10)
        case 9:
            return HoldReleased(charge=max(1, seq - chance.randrange(8)), tokens=tokens, usd=usd)
        case 10:
            spent = Spent(steps=seq, tokens=Tokens(tokens * seq, seq), usd=usd * seq, seconds=float(seq), held_usd=usd)
            return ChildSpent(run_id=chance.choice(["one", "two"]), spent=spent)
        case 11:
            return chance.choice([Said(text="more"), ModelSwitched(model=chance.choice(_MODELS), by="person")])
        case 12:
            return chance.choice([Fault(kind="rate", text="wait"), Unknown(type="damaged", raw=b"{}")])
        case _:
            return chance.choice([_resumed(chance), _ended(seq)])


def _charged(chance: random.Random, tokens: int, usd: float) -> Charged:
    is_cut = chance.random() < 0.3
    return Charged(
        tokens_in=tokens,
        tokens_out=tokens // 7,
        tokens_cached=tokens // 3,
        tokens_reasoning=tokens // 11,
        tokens_written=tokens // 13,
        usd=chance.choice([None, usd, usd, usd]),
        reported_usd=chance.choice([None, usd]),
        listed_usd=chance.choice([None, usd * 0.9]),
        estimated=chance.random() < 0.2,
        is_cut=is_cut,
        held_tokens=tokens if is_cut else 0,
        held_usd=usd if is_cut else 0.0,
        held_until=chance.choice([None, 5_000.0]),
        model=chance.choice(_MODELS),
        prompt_counted=chance.choice([0, tokens]),
    )


def _started(loop: LoopKind) -> RunStarted:
    return msgspec.convert(
        {
            "run_id": "r",
            "loop": loop.value,
            "task": "t",
            "workspace": "/w",
            "model": "small",
            "budget": {},
            "gate": GateMode.AUTO.value,
            "journal": "",
        },
        RunStarted,
    )


def _resumed(chance: random.Random) -> RunResumed:
    return RunResumed(run_id="r", from_seq=1, lost_steps=chance.randrange(3), lost_seconds=chance.random())


def _ended(seq: int) -> RunEnded:
    return msgspec.convert(
        {"reason": Reason.BUDGET.value, "detail": "d", "complete": False, "exit_code": 3, "seconds": seq / 3}, RunEnded
    )


def _events_of(name: str, folder: Path) -> list[Stamped]:
    folder.mkdir()
    journal = Journal.open_for_reading(unpack(name, folder).journal)
    try:
        return journal.read()
    finally:
        journal.close()


def _early() -> list[Stamped]:
    lines = EARLY.read_text().splitlines()
    events = [decode_event(json.loads(line)["type"], line.encode()) for line in lines]
    return [Stamped(seq, 0.0, None, None, event) for seq, event in enumerate(events, 1)]


def _rounded(figures: Sequence[float]) -> list[float]:
    """The figures without what the order of the sum changes."""
    return [round(figure, 9) for figure in figures]


def _plain(value: object) -> Any:
    return _without_noise(msgspec.to_builtins(value))


def _without_noise(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {key: _without_noise(each) for key, each in value.items()}
    return [_without_noise(each) for each in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        STORED.write_text(json.dumps(all_totals(Path(made)), indent=1, sort_keys=True) + "\n")
