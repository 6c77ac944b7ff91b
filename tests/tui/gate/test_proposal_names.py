"""The names of proposals at the gate."""

from __future__ import annotations

from fakes.played_events import proposal

from rundry.tui.gate.proposal_words import name


def test_a_background_command_is_named_as_one():
    assert name(proposal(tool="start_command")) == "start a background command"
    assert name(proposal()) == "run a command"
