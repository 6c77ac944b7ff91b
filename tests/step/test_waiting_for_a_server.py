"""How many seconds a run waits for a server that is away, as numbers."""

from __future__ import annotations

from fakes.clock import ManualClock

from rundry.agent.protocol import ModelFault
from rundry.agent.step.model_call.outages import BY_ITSELF, Outages

AWAY = ModelFault("server", "cannot connect to the server", retryable=True)


def asked_to_wait(seconds: float) -> ModelFault:
    return ModelFault("rate-limit", "slow down", retryable=True, status=429, retry_after=seconds)


def test_a_wait_that_the_provider_asks_for_is_granted_later_only_while_a_person_can_be_asked():
    clock = ManualClock()
    waits: list[float | None] = []
    for is_attended in (True, False):
        outages = Outages(clock)
        outages.seconds_to_wait("m", AWAY, 0, 100.0, is_attended=is_attended)
        clock.tick(24.0)
        waits.append(outages.seconds_to_wait("m", asked_to_wait(50.0), 1, 76.0, is_attended=is_attended))
    assert waits == [50.0, None]
    assert waits[0] is not None and waits[0] < BY_ITSELF
