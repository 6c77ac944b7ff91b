"""What the system tells a runner: SIGINT, SIGTERM and the end of its terminal end the run with an outcome."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Signals:
    """Those that came, and who hears of the next."""

    names: list[str] = field(default_factory=list[str])
    on: Callable[[str], object] = lambda name: None


@contextlib.contextmanager
def heard() -> Generator[Signals]:
    """While it lasts signals go to `on`. One that is ignored (`nohup`) stays so."""
    loop = asyncio.get_running_loop()
    signals = Signals()

    def hear(name: str) -> None:
        signals.names.append(name)
        signals.on(name)

    wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    numbers = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, hear, number.name)
    try:
        yield signals
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
