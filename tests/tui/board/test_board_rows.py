"""What the board says, row by row: no screen, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.views.searched import Search, a_pass, crawl, found, judged, lens_search

from rundry.agent import (
    Bars,
    CriticSpoke,
    FindingJudged,
    FindingReopened,
    ItemFailed,
    ItemQueued,
    PassStarted,
    Paused,
    Progress,
    Reason,
    RunEnded,
    Stamped,
    StepFinished,
    StepStarted,
    ToolCalled,
    Unpaused,
    ViewState,
    WorkFinished,
    WorkStarted,
    reduce_all,
)
from rundry.tui.board.layout import Laid, lay_out
from rundry.tui.board.look import Look
from rundry.tui.board.rows.cells import Row, grouped, middle, since
from rundry.tui.board.rows.excerpt import Excerpt, excerpt
from rundry.tui.board.rows.listings import listing_of
from rundry.tui.board.rows.plot import chart, sparkline
from rundry.tui.board.view import BoardView, Spot
from rundry.tui.theme import shipped_palette


def seen(stamped: Sequence[Stamped]) -> ViewState:
    state = ViewState()
    reduce_all(state, stamped)
    return state


def look(state: ViewState, after: float = 0.0, **more: object) -> Look:
    assert state.finder is not None and state.search is not None
    fields = {"now": state.last_at + after, "is_over": state.outcome is not None, **more}
    return Look(state, state.finder, state.search, shipped_palette("dark"), **fields)  # type: ignore[arg-type]


def text(row: Row) -> str:
    return "".join(part for part, _ in row)


def laid(at: Look, width: int = 120, height: int = 30, view: BoardView | None = None) -> Laid:
    view = view or BoardView()
    view.tab = view.tab or at.tabs[0]
    return lay_out(at, view, listing_of(at, view, None), width, height)


def shown(at: Look, width: int = 120, height: int = 30, view: BoardView | None = None) -> str:
    return "\n".join(text(row).rstrip() for row in laid(at, width, height, view).rows)


def line(whole: str, *words: str) -> str:
    return next(row for row in whole.splitlines() if all(word in row for word in words))


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


def ended(detail: str, *, complete: bool, reason: Reason = Reason.DRY) -> ViewState:
    script = Search()
    outcome = RunEnded(reason=reason, detail=detail, complete=complete, exit_code=0)
    return seen([*script.stamp(lens_search()), *a_pass(script, 1, 2, 0), *script.stamp(outcome)])


def test_what_nobody_was_asked_about_is_neither_ticked_nor_counted_as_confirmed():
    script = Search()
    kept = FindingJudged(key="f1.0", verdict="confirmed", by="none", reasons=["no sceptic was asked"])
    theirs = FindingJudged(key="f1.1", verdict="confirmed", by="person")
    state = seen([*script.stamp(lens_search(sceptics=0)), *a_pass(script, 1, 2, 0), *script.stamp(kept, theirs)])
    whole = shown(look(state))
    assert "1 ✓" in whole and "1 unverified" in whole, whole
    assert "as is" in line(whole, "finding 1.0") and "✓" not in line(whole, "finding 1.0")
    view = BoardView(tab="findings", is_open=True, spots={"findings": Spot(index=0, key="f1.0")})
    assert "no verdict: no verifier was asked" in shown(look(state), view=view)
    assert "kept unjudged: finding 1.0" in [block.text for block in state.blocks]


# plots and numbers


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


def test_numbers_are_grouped_and_names_lose_their_middle():
    assert (grouped(7), grouped(1204), grouped(2_345_678)) == ("7", "1 204", "2.3M")
    assert middle("https://example.org/a/very/long/path/page.html", 24) == "https:/…g/path/page.html"
    assert (since(9.9), since(125), since(3700)) == ("9s", "2:05", "1:01:40")


def test_the_pace_is_that_of_the_last_full_seconds():
    progress = Progress()
    for n in range(100):
        progress.worked(1000.0 + n / 10)
    assert progress.pace(1010.0) == 10.0
    assert progress.pace(1100.0) == 0.0


# lenses, works, findings


def test_a_lens_that_runs_one_that_found_nothing_and_one_that_never_ran_look_different():
    whole = shown(look(middle_of_search(), after=12.0))
    assert "running" in line(whole, "taint", "4")
    assert "nothing new" in line(whole, "auth")
    assert "never ran !" in line(whole, "cache")


def test_a_lens_that_failed_says_when_it_is_tried_again_and_why_it_is_set_aside():
    script = Search()
    begun = [*script.stamp(lens_search(), PassStarted(number=1, lenses=["taint"]))]
    fails = script.lens("taint", 1, ok=False, error="HTTP 500 from the model")
    assert "again in 1s ! HTTP 500" in shown(look(seen([*begun, *fails])), 160)
    given_up = script.lens("taint", 1, ok=False, error="HTTP 500 from the model", set_aside=True)
    assert "failed ! HTTP 500" in shown(look(seen([*begun, *fails, *given_up])), 160)


def test_the_models_word_is_shown_where_it_disagrees_with_the_keys():
    script = Search()
    said = [*script.stamp(lens_search()), *script.lens("taint", 1, found_new=True)]
    assert "no new key, says new" in shown(look(seen(said)))


def test_workers_in_flight_say_what_they_do_and_since_when():
    whole = shown(look(middle_of_search(), after=12.0))
    assert "in flight   2" in whole
    assert line(whole, "lens ", "read src/a.py").split("findings")[0].count("12s") == 1
    assert "sceptic  finding 1.2" in whole


def test_each_finding_has_a_sign_and_its_votes():
    whole = shown(look(middle_of_search()))
    assert "✓ 2/3" in line(whole, "finding 1.0")
    assert "✗ 0/3" in line(whole, "finding 1.1")
    assert "judging 1/3" in line(whole, "… ", "finding 1.2")
    assert "waits 0/3" in line(whole, "finding 1.3")
    assert "1 ✓  1 ✗  2 judging" in whole


def test_a_persons_verdict_a_duplicate_and_a_finding_sent_back_are_told_apart():
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
    whole = shown(look(state))
    assert "✓ you" in line(whole, "finding 0")
    assert "✗ same" in line(whole, "finding 1")
    assert "finding evidence" in line(whole, "finding 2")
    view = BoardView(tab="findings", is_open=True)
    view.spot.index, view.spot.key = 0, "f0"
    assert "merged     finding 1" in shown(look(state), view=view)


def test_the_streak_waits_and_the_critic_stand_at_the_foot():
    assert "critic  cache has never run" in shown(look(middle_of_search()))
    script = Search()
    fails = [*script.stamp(lens_search()), *script.lens("taint", 1, ok=False, error="HTTP 500")]
    assert "retry of a failed lens in 1s" in shown(look(seen(fails)))


def test_an_empty_search_says_who_looks():
    script = Search()
    state = seen(script.stamp(lens_search(), PassStarted(number=1, lenses=["taint"])))
    whole = shown(look(state))
    assert "nothing found yet: 3 lenses look" in whole
    assert "nothing yet" in line(whole, "new a pass")
    assert "waits its turn" in line(whole, "taint")


# the end


def test_a_dry_run_with_gaps_names_each_and_the_way_on():
    detail = (
        "2 passes in a row found nothing new; 1 confirmed, 0 refuted; lens cache: never ran; 2 items failed for good"
    )
    whole = shown(look(ended(detail, complete=False)))
    assert "~ dry, not complete   2 passes in a row found nothing new" in whole
    assert "lens cache: never ran" in whole
    assert "2 items failed for good" in whole
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
    whole = shown(look(state))
    assert "✓ dry   nothing new" in whole
    assert whole.index("confirmed one") < whole.index("refuted one")
    assert "resume" not in whole


def test_a_run_that_ended_on_a_limit_names_the_limit_that_mends_it():
    whole = shown(look(ended("step budget: 200 of 200 steps", complete=False, reason=Reason.BUDGET)))
    assert "budget   step budget: 200 of 200 steps" in whole
    assert "/limit steps N goes on" in whole


# sizes, and what others wrote


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (106, 30), (105, 30), (80, 17), (60, 12), (40, 8), (20, 3)])
@pytest.mark.parametrize("tab", ["findings", "lenses", "queue", "failed", "duplicates"])
def test_the_board_fits_every_size(size: tuple[int, int], tab: str):
    from rundry.tui.lines.draw import width_of

    for is_open in (False, True):
        rows = laid(look(middle_of_search()), *size, BoardView(tab=tab, is_open=is_open)).rows
        assert len(rows) <= size[1]
        assert max(width_of(row) for row in rows) <= size[0]


def test_at_eighty_columns_one_view_is_shown_at_a_time():
    state = middle_of_search()
    findings = shown(look(state), 80, 17)
    assert "finding 1.0" in findings and "never ran" not in findings
    lenses = shown(look(state), 80, 17, BoardView(tab="lenses"))
    assert "never ran !" in lenses and "✓ 2/3" not in lenses


def test_what_a_model_wrote_stands_there_as_text():
    script = Search()
    nasty = found("f0", "red \x1b[31m and \u202e back", evidence="a\x07b.py:1", detail="x\x9b2J")
    state = seen(script.stamp(lens_search(), nasty))
    for view in (BoardView(tab="findings"), BoardView(tab="findings", is_open=True)):
        whole = shown(look(state), view=view)
        assert not any(sign in whole for sign in "\x1b\u202e\x07\x9b")
        assert "⟨U+202E⟩" in whole


# a search without lenses


def crawled() -> ViewState:
    script = Search()
    stamped = script.stamp(crawl())
    for n in range(30):
        url = f"http://site/page/{n}"
        reason = "seed" if n == 0 else "new"
        stamped += script.stamp(ItemQueued(key=url, kind="url", value=url, source="http://site/", reason=reason))
    for n in range(20):
        url = f"http://site/page/{n}"
        stamped += script.of(f"item:{url}", WorkStarted(kind="item", about=url))
        if n < 17:
            stamped += script.of(f"item:{url}", WorkFinished(kind="item", about=url, ok=True))
    stamped += script.stamp(
        ItemFailed(key="http://site/a", error="HTTP 500: it broke", attempts=1, final=False),
        ItemFailed(key="http://site/b", error="HTTP 404: gone", attempts=1, final=True),
    )
    return seen(stamped)


def test_a_crawl_shows_its_pace_its_failures_by_kind_and_the_newest_pages():
    at = look(crawled(), is_focused=False)
    whole = shown(at, 120, 34)
    assert "pages a second" in whole and "in flight   3" in whole
    assert "retried" in line(whole, "HTTP 500")
    assert "1 failed" in line(whole, "HTTP 404")
    assert "http://site/page/29" in whole
    assert "lens" not in whole


def test_a_crawl_at_eighty_columns_has_its_works_in_a_view_of_their_own():
    assert "HTTP 404" in shown(look(crawled()), 80, 17, BoardView(tab="work"))
    assert "HTTP 404" in shown(look(crawled()), 80, 17, BoardView(tab="failed"))


def test_a_pause_shows_who_rests_between_two_steps_and_who_is_still_in_one():
    script = Search()
    stamped = [*script.stamp(lens_search(), PassStarted(number=1, lenses=["taint", "auth"]))]
    for name in ("taint", "auth"):
        work = f"lens:{name}"
        stamped += script.of(work, WorkStarted(kind="lens", about=name), StepStarted(number=1))
        stamped += script.of(work, ToolCalled(call_id="c", tool="read_file", arguments={"path": "src/a.py"}))
    stamped += script.of("lens:taint", StepFinished(number=1))
    running = seen(stamped)
    assert running.activity == "running" and "paused" not in shown(look(running))
    stamped += script.stamp(Paused())
    one = seen(stamped)
    whole = shown(look(one))
    assert one.activity == "running"
    assert line(whole, "taint ").count("paused") == line(whole, "lens     taint").count("paused") == 1
    assert "running" in line(whole, "auth ") and "a.py" in line(whole, "lens     auth")
    both = seen([*stamped, *script.of("lens:auth", StepFinished(number=2))])
    assert both.activity == "" and "running" not in shown(look(both))
    assert "running" in line(shown(look(seen([*stamped, *script.stamp(Unpaused())]))), "taint ")


def test_where_nothing_was_found_nobody_is_sent_to_look_at_it():
    script = Search()
    detail = "2 passes in a row in which every lens ran found nothing new; 0 keys seen"
    outcome = RunEnded(reason=Reason.DRY, detail=detail, complete=True, exit_code=0)
    whole = shown(look(seen([*script.stamp(lens_search()), *script.stamp(outcome)])))
    assert "no findings" in whole and "what was found" not in whole
    assert "what was found" in shown(look(ended("dry; 2 confirmed, 0 refuted", complete=True)))


def test_what_works_in_a_search_that_is_over_is_said_in_words():
    script = Search()
    ended = RunEnded(reason=Reason.DRY, detail="the frontier is drained; 1 key seen", complete=True, exit_code=0)
    assert "no workers are running" in shown(look(seen(script.stamp(crawl(), ended))), view=BoardView(tab="work"))


def test_a_high_number_at_the_plot_leaves_a_gap_before_the_bars():
    state = crawled()
    for _ in range(46_000):
        state.progress.surfaced.add(state.last_at)
    assert "46k at most" in shown(look(state), 120, 34)


# the cited lines


def test_the_lines_around_a_cited_place_are_shown(tmp_path: Path):
    (tmp_path / "a.py").write_text("\n".join(f"line {n}" for n in range(1, 30)))
    shown_lines = excerpt("a.py:10", tmp_path)
    assert isinstance(shown_lines, Excerpt)
    assert shown_lines.line == 10
    assert (shown_lines.lines[0], shown_lines.lines[-1]) == ((6, "line 6"), (14, "line 14"))


def test_nothing_outside_of_the_folder_no_link_out_of_it_and_no_device_is_read(tmp_path: Path):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("key\n")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "data").write_bytes(b"a\0b\n")
    assert "outside" in str(excerpt("../secret:1", inside))
    assert "outside" in str(excerpt("link:1", inside))
    assert "outside" in str(excerpt("/dev/zero:1", inside))
    assert "not a plain text" in str(excerpt("data:1", inside))
    assert "cannot be read" in str(excerpt("gone.py:1", inside))
    assert excerpt("in the header of the page", inside) == ""


def test_a_lens_that_failed_says_what_went_wrong_before_where():
    script = Search()
    error = "http://127.0.0.1:8000/v1: no such model"
    failed = WorkFinished(kind="lens", about="taint", ok=False, error=error, set_aside=True)
    state = seen([*script.stamp(lens_search()), *script.of("lens:taint#1", failed)])
    assert "failed ! no such model" in line(shown(look(state)), "taint")
