"""The board of a crawl, of a search that ended, and the lines around a cited place."""

from __future__ import annotations

from pathlib import Path

from fakes.views.board_rows import board_data, ended, line, seen, shown
from fakes.views.lens_search import Search, crawl, lens_search

from rundry.agent import (
    ItemFailed,
    ItemQueued,
    PassStarted,
    Paused,
    Reason,
    RunEnded,
    StepFinished,
    StepStarted,
    ToolCalled,
    Unpaused,
    ViewState,
    WorkFinished,
    WorkStarted,
)
from rundry.tui.board.board_view import BoardView
from rundry.tui.board.cited_lines import Excerpt, excerpt


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
    at = board_data(crawled(), is_focused=False)
    whole = shown(at, 120, 34)
    assert "pages a second" in whole and "in flight   3" in whole
    assert "retried" in line(whole, "HTTP 500")
    assert "1 failed" in line(whole, "HTTP 404")
    assert "/page/29" in whole and "http://site/page/29" not in whole, "the host is the same for all pages"
    assert "lens" not in whole


def test_a_crawl_at_eighty_columns_has_its_works_in_a_view_of_their_own():
    assert "HTTP 404" in shown(board_data(crawled()), 80, 17, BoardView(tab="work"))
    assert "HTTP 404" in shown(board_data(crawled()), 80, 17, BoardView(tab="failed"))


def test_a_pause_shows_who_rests_between_two_steps_and_who_is_still_in_one():
    script = Search()
    stamped = [*script.stamp(lens_search(), PassStarted(number=1, lenses=["taint", "auth"]))]
    for name in ("taint", "auth"):
        work = f"lens:{name}"
        stamped += script.of(work, WorkStarted(kind="lens", about=name), StepStarted(number=1))
        stamped += script.of(work, ToolCalled(call_id="c", tool="read_file", arguments={"path": "src/a.py"}))
    stamped += script.of("lens:taint", StepFinished(number=1))
    running = seen(stamped)
    assert running.activity == "running" and "paused" not in shown(board_data(running))
    stamped += script.stamp(Paused())
    one = seen(stamped)
    whole = shown(board_data(one))
    assert one.activity == "running"
    assert line(whole, "taint ").count("paused") == line(whole, "lens     taint").count("paused") == 1
    assert "running" in line(whole, "auth ") and "a.py" in line(whole, "lens     auth")
    both = seen([*stamped, *script.of("lens:auth", StepFinished(number=2))])
    assert both.activity == "" and "running" not in shown(board_data(both))
    assert "running" in line(shown(board_data(seen([*stamped, *script.stamp(Unpaused())]))), "taint ")


def test_where_nothing_was_found_nobody_is_sent_to_look_at_it():
    script = Search()
    detail = "2 passes in a row in which every lens ran found nothing new; 0 keys seen"
    outcome = RunEnded(reason=Reason.DRY, detail=detail, complete=True, exit_code=0)
    whole = shown(board_data(seen([*script.stamp(lens_search()), *script.stamp(outcome)])))
    assert "no findings" in whole and "what was found" not in whole
    assert "what was found" in shown(board_data(ended("dry; 2 confirmed, 0 refuted", complete=True)))


def test_what_works_in_a_search_that_is_over_is_reported_in_words():
    script = Search()
    ended = RunEnded(reason=Reason.DRY, detail="the frontier is drained; 1 key seen", complete=True, exit_code=0)
    assert "no workers are running" in shown(board_data(seen(script.stamp(crawl(), ended))), view=BoardView(tab="work"))


def test_a_high_number_at_the_plot_leaves_a_gap_before_the_bars():
    state = crawled()
    for _ in range(46_000):
        state.progress.surfaced.add(state.last_at)
    assert "46k ┤" in shown(board_data(state), 120, 34)


def test_the_lines_around_a_cited_place_are_shown(tmp_path: Path):
    (tmp_path / "a.py").write_text("\n".join(f"line {n}" for n in range(1, 30)))
    shown_lines = excerpt("a.py:10", tmp_path)
    assert isinstance(shown_lines, Excerpt)
    assert shown_lines.line == 10
    around = shown_lines.around(9)
    assert (around[0], around[-1]) == ((6, "line 6"), (14, "line 14"))


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
    assert "does not exist any more" in str(excerpt("gone.py:1", inside))
    assert excerpt("in the header of the page", inside) == ""


def test_a_lens_that_failed_says_what_went_wrong_before_where():
    script = Search()
    error = "http://127.0.0.1:8000/v1: no such model"
    failed = WorkFinished(kind="lens", about="taint", ok=False, error=error, set_aside=True)
    state = seen([*script.stamp(lens_search()), *script.of("lens:taint#1", failed)])
    assert "failed ! no such model" in line(shown(board_data(state)), "taint")
