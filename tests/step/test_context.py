from hypothesis import given, settings
from hypothesis import strategies as st

from rundry.agent.journal.conversation import Conversation
from rundry.agent.protocol import Message, ToolCall
from rundry.agent.step.context import fit
from rundry.agent.step.fitting.shorten import cut_middle
from rundry.agent.step.fitting.smallest import output_room


def count(messages, tools=()):
    return sum(4 + len(m.text) // 4 + sum(len(c.arguments) // 4 for c in m.calls) for m in messages)


@st.composite
def conversations(draw):
    messages = [Message(role="system", text="s" * draw(st.integers(0, 400)))]
    messages.append(Message(role="user", text="TASK " + "t" * draw(st.integers(0, 2000))))
    number = 0
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            messages.append(Message(role="user", text="u" * draw(st.integers(1, 3000))))
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls.append(ToolCall(f"c{number}", "read_file", '{"path": "a"}'))
        messages.append(Message(role="assistant", text="a" * draw(st.integers(0, 1500)), calls=calls))
        messages += [Message(role="tool", text="r" * draw(st.integers(0, 9000)), call_id=c.call_id) for c in calls]
    return Conversation(messages=messages)


@given(conversations(), st.sampled_from([1024, 4096, 8192, 32768]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_trimming_never_leaves_an_orphan_and_always_keeps_the_task(conversation, window, harder):
    room = window - output_room(window, None)
    fitted = fit(conversation, count=count, window=window, room=room, harder=harder)
    calls = [c.call_id for m in fitted.messages for c in m.calls]
    results = [m.call_id for m in fitted.messages if m.role == "tool"]
    assert sorted(calls) == sorted(results)
    for i, message in enumerate(fitted.messages):
        if message.role == "tool":
            before = [c.call_id for m in fitted.messages[:i] for c in m.calls]
            assert message.call_id in before
    assert fitted.messages[0].role == "system"
    assert fitted.messages[1].text.startswith("TASK")
    newest = [m for m in conversation.messages if m.role in ("user", "assistant")][-1]
    assert any(m.role == newest.role and m.calls == newest.calls for m in fitted.messages)


@given(conversations())
@settings(max_examples=200, deadline=None)
def test_what_goes_to_a_4096_token_model_fits_its_room(conversation):
    room = 4096 - output_room(4096, None)
    assert fit(conversation, count=count, window=4096, room=room).tokens <= room


def test_what_was_dropped_stays_dropped_until_the_window_is_full_again():
    conversation = Conversation(messages=[Message(role="system", text="s"), Message(role="user", text="TASK")])
    for i in range(40):
        conversation.messages.append(Message(role="assistant", text="a", calls=[ToolCall(f"c{i}", "read_file", "{}")]))
        conversation.messages.append(Message(role="tool", text="r" * 800, call_id=f"c{i}"))
    first = fit(conversation, count=count, window=8192, room=6144)
    assert first.dropped > 0
    assert first.tokens <= 8192 * 0.6
    conversation.upto = first.upto
    conversation.messages.append(Message(role="assistant", text="next"))
    second = fit(conversation, count=count, window=8192, room=6144)
    assert second.dropped == 0
    assert second.messages[: len(first.messages)] == first.messages


def test_a_cut_text_keeps_head_and_tail_and_says_what_is_missing():
    cut = cut_middle("a" * 500 + "b" * 500, 300)
    assert cut.startswith("a")
    assert cut.endswith("b")
    assert "700 characters are left out" in cut
