import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.models.counting import Counter
from rundry.agent.protocol import ImageRef, Message, ToolCall
from rundry.agent.protocol.text.shorten_text import middle_cut
from rundry.agent.state.facts.conversation import Conversation
from rundry.agent.step.prompt.fit_conversation import fit
from rundry.agent.step.prompt.fit_fixed_part import FixedLimits
from rundry.agent.step.prompt.smallest_window import needed_room, output_room, prompt_room, smallest_window
from rundry.agent.tools.tool_table import tool_specs


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
@settings(max_examples=examples(300), deadline=None)
def test_trimming_never_leaves_an_orphan_and_always_keeps_the_task(conversation, window, harder):
    room = window - output_room(window, None)
    fitted = fit(conversation, count=count, window=window, room=room, limit=room // 2 if harder else None)
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
@settings(max_examples=examples(200), deadline=None)
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
    cut = middle_cut("a" * 500 + "b" * 500, 300)
    assert cut.startswith("a")
    assert cut.endswith("b")
    assert "700 characters are left out" in cut


NAMES = """read_file list_files search edit_file write_file run_command start_command stop_command
update_plan ask_person finish"""
GOAL_TOOLS = tool_specs(NAMES.split())
TEXTS = st.one_of(st.text(max_size=60), st.integers(0, 9_000).map(lambda n: "word after word\n" * (n // 16)))
ARGUMENTS = st.one_of(
    st.dictionaries(st.sampled_from(["path", "content", "edits", "lines"]), st.one_of(TEXTS, st.lists(TEXTS))).map(
        lambda fields: msgspec.json.encode(fields).decode()
    ),
    TEXTS,
)
CALLS = st.lists(st.tuples(st.sampled_from(["read_file", "edit_file", "run_command"]), ARGUMENTS, TEXTS), max_size=6)
ROUNDS = st.lists(st.tuples(TEXTS, CALLS, st.lists(TEXTS.filter(bool), max_size=2)), max_size=8)


def talk(system, task, rounds):
    messages = [Message(role="system", text=system), Message(role="user", text=task)]
    number = 0
    for text, calls, said in rounds:
        made = [ToolCall(f"c{(number := number + 1)}", tool, arguments) for tool, arguments, _ in calls]
        if text or made:
            messages.append(Message(role="assistant", text=text, calls=made))
        results = zip(made, (result for _, _, result in calls), strict=True)
        messages += [Message(role="tool", text=result, call_id=call.call_id) for call, result in results]
        messages += [Message(role="user", text=one) for one in said]
    return Conversation(messages=messages)


@given(TEXTS, st.integers(0, 300), TEXTS, ROUNDS, st.integers(0, 4_096), st.booleans(), st.booleans())
@settings(max_examples=examples(250), deadline=None)
def test_what_is_sent_fits_any_window_that_is_large_enough_and_each_call_has_its_result(
    task, lines, head, rounds, more, with_tools, refused
):
    system = f"{head}\n\nThe project's own instructions (AGENTS.md):\n" + "Keep this rule.\n" * lines
    tools, count = GOAL_TOOLS if with_tools else (), Counter("fake").prompt
    window = smallest_window(needed_room(system, tools, task, count)) + more
    room = prompt_room(window, None)
    fitted = fit(
        talk(system, task, rounds),
        count=count,
        window=window,
        room=room,
        tools=tools,
        limit=room // 2 if refused else None,
    )
    assert fitted.tokens == count(fitted.messages, fitted.fixed.tools)
    assert fitted.tokens <= room
    asked = [call.call_id for message in fitted.messages for call in message.calls]
    assert asked == [message.call_id for message in fitted.messages if message.role == "tool"]
    for i, message in enumerate(fitted.messages):
        if message.role == "tool":
            assert fitted.messages[i - 1].role in ("tool", "assistant")
    if not refused:
        assert fitted.fits
        assert fitted.messages[1].text == task
    for call in (call for message in fitted.messages for call in message.calls):
        assert call in [c for m in talk(system, task, rounds).messages for c in m.calls] or msgspec.json.decode(
            call.arguments
        )


@given(st.integers(1, 400), st.text(max_size=900), ROUNDS)
@settings(max_examples=examples(60), deadline=None)
def test_a_window_that_is_smaller_than_all_that_can_be_shortened_ends_in_a_prompt_that_is_reported_as_too_long(
    window, task, rounds
):
    room = max(0, prompt_room(window, None))
    count = Counter("fake").prompt
    fitted = fit(talk("You work.", task, rounds), count=count, window=window, room=room, tools=GOAL_TOOLS)
    assert fitted.fits == (fitted.tokens <= room)


def test_the_instructions_are_shortened_before_the_tools_and_those_before_they_are_left_out():
    system = "You work.\n\nThe project's own instructions (AGENTS.md):\n" + "Keep this rule.\n" * 600
    conversation = Conversation(messages=[Message(role="system", text=system), Message(role="user", text="TASK")])
    seen = []
    for window in (32_768, 8_192, 4_096, 2_048, 1_024):
        room = prompt_room(window, None)
        fixed = fit(conversation, count=Counter("fake").prompt, window=window, room=room, tools=GOAL_TOOLS).fixed
        seen.append((fixed.kept == fixed.length, fixed.is_brief, len(fixed.left_out)))
        assert fixed.kept == 0 or f"{fixed.length - fixed.kept:,} more characters" in fixed.system or seen[-1][0]
    assert seen == sorted(seen, key=lambda one: (not one[0], one[1], one[2]))
    assert seen[:2] == [(True, False, 0), (False, False, 0)]
    assert seen[3][1] and seen[-1][2] > 0


@pytest.mark.parametrize("window", [1_024, 2_048, 4_096])
def test_a_tool_that_a_predicate_requires_is_never_left_out(window):
    conversation = Conversation(messages=[Message(role="system", text="s"), Message(role="user", text="TASK")])
    room = prompt_room(window, None)
    fitted = fit(
        conversation,
        count=Counter("fake").prompt,
        window=window,
        room=room,
        tools=GOAL_TOOLS,
        limits=FixedLimits(["run_command"]),
    )
    assert "run_command" in [tool.name for tool in fitted.fixed.tools]


def test_a_first_message_that_is_larger_than_the_window_leaves_room_for_the_newest_round():
    calls = [("read_file", '{"path": "a"}', "result " * 60)]
    conversation = talk("You work.", "pasted line\n" * 3_000, [("", calls, [])])
    room = prompt_room(4_096, None)
    fitted = fit(conversation, count=Counter("fake").prompt, window=4_096, room=room, tools=GOAL_TOOLS)
    assert fitted.fits
    assert fitted.messages[-1].text == "result " * 60
    assert "characters are left out" in fitted.messages[1].text


PICTURE = ImageRef(sha="0" * 64, media="image/png", name="a.png", width=1500, height=1000)


def count_all(messages, tools=()):
    return count(messages) + sum(2_000 for m in messages for _ in m.images)


def with_images(task: int, newest: int, result: str) -> Conversation:
    return Conversation(
        messages=[
            Message(role="system", text="s"),
            Message(role="user", text="TASK", images=[PICTURE] * task),
            Message(role="assistant", text="a"),
            Message(role="user", text="look", images=[PICTURE] * newest),
            Message(role="assistant", text="", calls=[ToolCall("c", "read_file", "{}")]),
            Message(role="tool", text=result, call_id="c"),
        ]
    )


def test_an_old_image_goes_before_the_texts_of_the_newest_round():
    fitted = fit(with_images(1, 0, "r" * 20_000), count=count_all, window=8_192, room=6_144)
    assert (fitted.images, fitted.shortened, fitted.fits) == (1, 0, True)
    assert fitted.messages[1].text == "TASK\n[image a.png, 1500x1000]"
    assert fitted.messages[-1].text == "r" * 20_000


def test_images_take_half_of_the_room_at_most_and_the_newest_stay():
    fitted = fit(with_images(2, 1, "r" * 6_000), count=count_all, window=8_192, room=6_144)
    assert (fitted.images, fitted.shortened, fitted.fits) == (2, 0, True)
    assert [len(m.images) for m in fitted.messages if m.role == "user"] == [0, 1]
    said = Message(role="user", text="TASK " + "t" * 2_000, images=[PICTURE] * 8)
    fitted = fit(Conversation(messages=[said]), count=count_all, window=8_192, room=6_144)
    assert (len(fitted.messages[0].images), fitted.images, fitted.shortened) == (1, 7, 0)
    assert fitted.messages[0].text.count("[image a.png") == 7


def test_images_that_fit_are_left_alone():
    conversation = with_images(1, 1, "r" * 400)
    fitted = fit(conversation, count=count_all, window=32_768, room=28_000)
    assert fitted.messages == conversation.messages
    assert fitted.images == 0


def test_where_not_all_calls_of_a_round_fit_the_oldest_go_first():
    calls = [("read_file", f'{{"path": "{number}.txt"}}', "") for number in range(40)]
    fitted = fit(talk("You work.", "TASK", [("", calls, [])]), count=count, window=400, room=300)
    kept = [call.call_id for message in fitted.messages for call in message.calls]
    assert 1 < len(kept) < 40
    assert kept == [f"c{number}" for number in range(41 - len(kept), 41)]
