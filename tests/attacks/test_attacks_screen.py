"""ATTACKS 4.1 to 4.27: no text of a model, a file or a tool does anything on the screen but stand there."""

from __future__ import annotations

import unicodedata

import pytest
from attacks.hostile import HOSTILE, flood
from fakes.screens import Stage

SIZE = (160, 500)


def drawn(stage: Stage) -> list[object]:
    """All segments of the screen as they go to the terminal."""
    return [segment for strip in stage.app.screen._compositor.render_strips() for segment in strip]


def assert_harmless(text: str) -> None:
    for sign in set(text):
        assert sign == "\u3000" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), hex(ord(sign))
    assert "\u0301" * 6 not in text


async def shown(stage: Stage, text: str, pilot: object) -> str:
    stage.play(*flood(text))
    for _ in range(200):
        await pilot.pause(0.01)
        if stage.screen.gate.display and "n reject" in stage.text():
            break
    stage.screen.action_do("unfold_all")
    await pilot.pause()
    return stage.text()


@pytest.mark.parametrize("number", HOSTILE)
async def test_every_event_with_a_hostile_text_is_drawn_as_plain_text(number: str) -> None:
    stage = Stage()
    async with stage.app.run_test(size=SIZE) as pilot:
        text = await shown(stage, HOSTILE[number], pilot)
        assert "n reject" in text, text[-3000:]
        for segment in drawn(stage):
            assert_harmless(segment.text)
            style = segment.style
            assert style is None or not style.link, segment
            assert style is None or "@click" not in (style.meta or {}), segment
        visible = {"4.1": HOSTILE["4.1"], "4.3": HOSTILE["4.3"], "4.4": "es␛cape", "4.14": "⟨U+202E⟩esrever"}
        assert text.count(visible.get(number, "")) > 10
