"""Handle SIGINT, SIGTERM and SIGHUP, which end the run with an outcome."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Generator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Signals:
    """The signals that arrived so far, and the handler for the next one."""

    names: list[str] = field(default_factory=list[str])
    on: Callable[[str], object] = lambda name: None


@contextlib.contextmanager
def received_signals() -> Generator[Signals]:
    """Handle signals within this context. A signal that is ignored (as with `nohup`) stays ignored."""
    loop = asyncio.get_running_loop()
    signals = Signals()

    def on_signal(name: str) -> None:
        signals.names.append(name)
        signals.on(name)

    wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    numbers = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, on_signal, number.name)
    try:
        yield signals
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
