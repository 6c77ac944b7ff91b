"""What the board says, row by row: no screen, no clock."""

from __future__ import annotations

import pytest
from fakes.views.board_rows import board_data, ended, laid, line, seen, shown
from fakes.views.lens_search import Search, a_pass, found, judged, lens_search

from rundry.agent import (
    Bars,
    CriticSpoke,
    FindingJudged,
    FindingReopened,
    LimitName,
    PassStarted,
    Progress,
    Reason,
    RunEnded,
    ToolCalled,
    ViewState,
    WorkStarted,
)
from rundry.tui.board.board_view import BoardView, Spot
from rundry.tui.board.discovery_plot import chart, sparkline
from rundry.tui.board.row_cells import grouped, since
from rundry.tui.text.shorten_cells import cells_middle


def middle_of_search() -> ViewState:
    script = Search()
    return seen(
        [
            *script.stamp(lens_search()),
            *a_pass(script, 1, 4, 0),
            *a_pass(script, 2, 0, 1),
            *script.stamp(*judged("f1.0", "stands", "stands", "refuted")),
            *script.stamp(*judged("f1.1", "refuted", "refuted", "refuted")),
            *script.stamp(*judged("f1.2", "stands", "refuted", "stands")[:1]),
            *script.stamp(PassStarted(number=3, lenses=["taint"])),
            *script.of("lens:taint#3", WorkStarted(kind="lens", about="taint")),
            *script.of("lens:taint#3", ToolCalled(call_id="c", tool="read_file", arguments={"path": "src/a.py"})),
            *script.of("s1", WorkStarted(kind="sceptic", about="f1.2")),
            *script.stamp(CriticSpoke(half="code", lenses=["cache"], text="cache has never run")),
        ]
    )


def test_what_nobody_was_asked_about_is_neither_ticked_nor_counted_as_confirmed():
    script = Search()
    kept = FindingJudged(key="f1.0", verdict="confirmed", by="none", reasons=["no sceptic was asked"])
    theirs = FindingJudged(key="f1.1", verdict="confirmed", by="person")
    state = seen([*script.stamp(lens_search(sceptics=0)), *a_pass(script, 1, 2, 0), *script.stamp(kept, theirs)])
    whole = shown(board_data(state))
    assert "1 ✓" in whole and "1 unverified" in whole, whole
    assert "as is" in line(whole, "finding 1.0") and "✓" not in line(whole, "finding 1.0")
    view = BoardView(tab="findings", is_open=True, spots={"findings": Spot(index=0, key="f1.0")})
    assert "no verdict: no verifier was asked" in shown(board_data(state), view=view)
    assert "kept unjudged: finding 1.0" in [block.text for block in state.blocks]


def test_the_highest_bar_is_full_nothing_is_a_blank_and_something_always_shows():
    assert sparkline([80, 40, 0, 1], 10) == "█▄ ▁"


def test_a_plot_adds_neighbours_up_where_there_is_no_room():
    assert len(sparkline([1] * 100, 30)) <= 30
    assert len(sparkline([1] * 100, 30)) >= 20


def test_a_tall_chart_stands_on_its_lowest_row():
    assert chart([8, 4], 10, 2) == ["█ ", "██"]


def test_bars_over_hours_stay_few_and_lose_no_count():
    bars = Bars()
    for minute in range(600):
        bars.add(1_000_000.0 + 60 * minute, 3)
    assert len(bars.counts) <= 400
    assert sum(bars.counts) == 1800


def test_numbers_are_grouped_and_names_lose_their_cells_middle():
    assert (grouped(7), grouped(1204), grouped(2_345_678)) == ("7", "1 204", "2.3M")
    assert cells_middle("https://example.org/a/very/long/path/page.html", 24) == "https:/…g/path/page.html"
    assert (since(9.9), since(125), since(3700)) == ("9s", "2:05", "1:01:40")


def test_the_pace_is_that_of_the_last_full_seconds():
    progress = Progress()
    for n in range(100):
        progress.worked(1000.0 + n / 10)
    assert progress.pace(1010.0) == 10.0
    assert progress.pace(1100.0) == 0.0


def test_the_rate_is_that_since_the_first_second_and_falls_while_nothing_ends():
    progress = Progress()
    for n in range(100):
        progress.worked(1000.0 + n / 10)
    assert progress.rate(1010.0) == 10.0
    assert progress.rate(1019.0) == 5.0
    few = Progress()
    for at in (1000.0, 1005.0, 1006.0):
        few.worked(at)
    assert few.rate(1010.0) is None


def test_a_lens_that_runs_one_that_found_nothing_and_one_that_never_ran_look_different():
    whole = shown(board_data(middle_of_search(), after=12.0), view=BoardView(tab="lenses"))
    assert "running" in line(whole, "taint", "4")
    assert "nothing new" in line(whole, "auth")
    assert "never ran !" in line(whole, "cache")


def test_a_lens_that_failed_shows_when_it_is_tried_again_and_why_it_failed_permanently():
    script = Search()
    begun = [*script.stamp(lens_search(), PassStarted(number=1, lenses=["taint"]))]
    fails = script.lens("taint", 1, ok=False, error="HTTP 500 from the model")
    assert "retry in 1s ! HTTP 500" in shown(board_data(seen([*begun, *fails])), 160)
    given_up = script.lens("taint", 1, ok=False, error="HTTP 500 from the model", set_aside=True)
    assert "failed ! HTTP 500" in shown(board_data(seen([*begun, *fails, *given_up])), 160)


def test_the_models_word_is_shown_where_it_disagrees_with_the_keys():
    script = Search()
    said = [*script.stamp(lens_search()), *script.lens("taint", 1, found_new=True)]
    assert "no new key, says new" in shown(board_data(seen(said)))


def test_workers_in_flight_say_what_they_do_and_since_when():
    whole = shown(board_data(middle_of_search(), after=12.0))
    assert "in flight   2" in whole
    assert line(whole, "lens ", "read src/a.py").split("findings")[0].count("12s") == 1
    assert "sceptic  finding 1.2" in whole


def test_each_finding_has_a_sign_and_its_votes():
    whole = shown(board_data(middle_of_search()))
    assert "✓ 2/3" in line(whole, "finding 1.0")
    assert "✗ 0/3" in line(whole, "finding 1.1")
    assert "confirmed by 2 of 3" in line(whole, "finding 1.0")
    assert "refuted by 3 of 3" in line(whole, "finding 1.1")
    assert "verifying 1/3" in line(whole, "… ", "finding 1.2")
    assert "verifying 0/3" in line(whole, "finding 1.3")
    narrow = shown(board_data(middle_of_search()), 100)
    assert "judging 1/3" in line(narrow, "… ", "finding 1.2")
    assert "waits 0/3" in line(narrow, "finding 1.3")
    assert "1 ✓ confirmed  1 ✗ refuted  2 judging" in whole


def test_a_persons_verdict_a_duplicate_and_a_finding_sent_back_look_different():
    script = Search()
    state = seen(
        script.stamp(
            lens_search(),
            *(found(f"f{n}", f"finding {n}") for n in range(3)),
            FindingJudged(key="f0", verdict="confirmed", by="person"),
            FindingJudged(key="f1", verdict="refuted", by="person", duplicate_of="f0"),
            FindingReopened(key="f2", reason="which line?"),
        )
    )
    whole = shown(board_data(state))
    assert "✓ you" in line(whole, "finding 0")
    assert "✗ same" in line(whole, "finding 1")
    assert "sent back" in line(whole, "finding 2")
    view = BoardView(tab="findings", is_open=True)
    view.spot.index, view.spot.key = 0, "f0"
    assert "merged     finding 1" in shown(board_data(state), view=view)


def test_the_streak_waits_and_the_critic_stand_at_the_foot():
    assert "critic  cache has never run" in shown(board_data(middle_of_search()))
    script = Search()
    fails = [*script.stamp(lens_search()), *script.lens("taint", 1, ok=False, error="HTTP 500")]
    assert "retry of a failed lens in 1s" in shown(board_data(seen(fails)))


def test_an_empty_search_says_who_looks():
    script = Search()
    state = seen(script.stamp(lens_search(), PassStarted(number=1, lenses=["taint"])))
    whole = shown(board_data(state))
    assert "nothing found yet: 3 lenses look" in whole
    assert "nothing yet" in whole
    assert "waits its turn" in line(whole, "taint")


def test_a_dry_run_with_gaps_names_each_and_the_way_on():
    detail = (
        "2 passes in a row found nothing new; 1 confirmed, 0 refuted; lens cache: never ran; 2 items failed permanently"
    )
    whole = shown(board_data(ended(detail, complete=False)))
    assert "~ dry, not complete   2 passes in a row found nothing new" in whole
    assert "lens cache: never ran" in whole
    assert "2 items failed permanently" in whole
    assert "rundry resume r1" in whole


def test_a_dry_run_without_gaps_says_so_and_lists_what_was_confirmed_first():
    script = Search()
    state = seen(
        script.stamp(
            lens_search(),
            found("f0", "refuted one"),
            found("f1", "confirmed one"),
            *judged("f0", "refuted"),
            *judged("f1", "stands"),
            RunEnded(reason=Reason.DRY, detail="nothing new; 1 confirmed", complete=True, exit_code=0),
        )
    )
    whole = shown(board_data(state))
    assert "✓ dry   nothing new" in whole
    assert whole.index("confirmed one") < whole.index("refuted one")
    assert "resume" not in whole


def test_a_run_that_ended_on_a_limit_names_the_limit_that_mends_it():
    whole = shown(board_data(ended("step budget: 200 of 200 steps", complete=False, reason=Reason.BUDGET)))
    assert "budget   step budget: 200 of 200 steps" in whole
    assert "/limit steps N to continue" in whole


@pytest.mark.parametrize(
    ("limit", "fix"),
    [
        ("tokens", "tokens N"),
        ("usd", "usd N"),
        ("seconds", "time 1h"),
        ("deadline", "deadline 1h"),
        ("steps", "steps N"),
    ],
)
def test_the_limit_to_raise_is_that_of_the_end_whatever_its_detail_says(limit: LimitName, fix: str):
    end = RunEnded(reason=Reason.BUDGET, detail="token, cost, time", complete=False, exit_code=3, limit=limit)
    assert f"/limit {fix} to continue" in shown(board_data(seen(Search().stamp(lens_search(), end))))


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (106, 30), (105, 30), (80, 17), (60, 12), (40, 8), (20, 3)])
@pytest.mark.parametrize("tab", ["findings", "lenses", "queue", "failed", "duplicates"])
def test_the_board_fits_every_size(size: tuple[int, int], tab: str):
    from rundry.tui.lines.draw_runs import width_of

    for is_open in (False, True):
        rows = laid(board_data(middle_of_search()), *size, BoardView(tab=tab, is_open=is_open)).rows
        assert len(rows) <= size[1]
        assert max(width_of(row) for row in rows) <= size[0]


def test_at_eighty_columns_one_view_is_shown_at_a_time():
    state = middle_of_search()
    findings = shown(board_data(state), 80, 17)
    assert "finding 1.0" in findings and "never ran" not in findings
    lenses = shown(board_data(state), 80, 17, BoardView(tab="lenses"))
    assert "never ran !" in lenses and "✓ 2/3" not in lenses


def test_what_a_model_wrote_stands_there_as_text():
    script = Search()
    nasty = found("f0", "red \x1b[31m and \u202e back", evidence="a\x07b.py:1", detail="x\x9b2J")
    state = seen(script.stamp(lens_search(), nasty))
    for view in (BoardView(tab="findings"), BoardView(tab="findings", is_open=True)):
        whole = shown(board_data(state), view=view)
        assert not any(sign in whole for sign in "\x1b\u202e\x07\x9b")
        assert "⟨U+202E⟩" in whole
