"""How soon a typed key is on the screen. Keys go out on a schedule, so a stall counts for each key that it hits."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fakes.terminal import Terminal
from fakes.views.emulator import Emulator

PROMPT = "›"


def distinct(count: int, seed: int = 3) -> str:
    """Letters of which no three in a row come twice, so that each key can be told from all others."""
    rng, text, seen = random.Random(seed), "qz", set[str]()
    while len(text) < count:
        letter = rng.choice("bdfghjkmnpqrstvwxz")
        if text[-2:] + letter not in seen:
            seen.add(text[-2:] + letter)
            text += letter
    return text


@dataclass
class Typist:
    """Types in a thread while something else happens."""

    terminal: Terminal
    every: float = 0.09
    most: int = 80
    sent: list[tuple[float, str]] = field(default_factory=list)
    """When a key went out, and the three letters that then stand last."""

    def start(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._type, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _type(self) -> None:
        text, due, rng = distinct(self.most), time.monotonic(), random.Random(1)
        for place, letter in enumerate(text):
            due += self.every * rng.uniform(0.6, 1.4)
            if self._stop.wait(max(0.0, due - time.monotonic())):
                return
            moment = self.terminal.send(letter)
            if place >= 2:
                self.sent.append((moment, text[place - 2 : place + 1]))


def watch(terminal: Terminal, wants: list[tuple[float, Callable[[list[str]], bool]]]) -> list[float | None]:
    """Draws the recording again: when each fact first showed after its moment. Costs the program nothing."""
    emulator = Emulator(terminal.rows, terminal.columns)
    found: list[float | None] = [None] * len(wants)
    for moment, data in terminal.output:
        emulator.feed(data)
        lines = emulator.lines()
        for place, (since, fact) in enumerate(wants):
            if found[place] is None and moment >= since and fact(lines):
                found[place] = moment
    return found


def echo_seconds(terminal: Terminal, typist: Typist) -> list[float]:
    """Of each key; a key that never showed counts as ten seconds."""
    wants = [(at, _typed(letters)) for at, letters in typist.sent]
    shown = watch(terminal, wants)
    return [10.0 if s is None else s - at for s, (at, _) in zip(shown, typist.sent, strict=True)]


def _typed(letters: str) -> Callable[[list[str]], bool]:
    return lambda lines: any(letters in line for line in lines if line.lstrip().startswith(PROMPT))
