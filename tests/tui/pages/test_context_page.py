"""The page with the messages that the model reads now."""

from __future__ import annotations

from painted import painted, shows
from textual.app import App

from rundry.agent import SentMessage, ToolCall
from rundry.agent.protocol import Message
from rundry.agent.state.reports.sent_messages import message_text
from rundry.tui.pages.context_page import ContextScreen


async def test_each_row_of_a_summary_stands_below_its_first_one():
    app, lines = App[None](), ["The sums are wrong, and " + "much more was said about them " * 4, "", "second part"]
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(ContextScreen([SentMessage("summary", "\n".join(lines), 60)]))
        await shows(pilot, "second part")
        rows = painted(app).splitlines()
        first = next(row for row in rows if "The sums are wrong" in row)
        at = first.index("The sums")
        below = [row for row in rows if "said about" in row or "second part" in row]
        assert len(below) > 2
        assert all(not row[:at].strip(" │▌▐▏▕") for row in below if row is not first)


def test_a_call_is_named_with_its_arguments():
    call = ToolCall("c1", "run_command", '{"command": "pytest -q"}')
    assert (
        message_text(Message(role="assistant", calls=[call, ToolCall("c2", "read_file", "not JSON")]))
        == "run pytest -q, read_file"
    )
