"""`rundry find` in a pseudo-terminal: a site is crawled to its dry end, and a second terminal watches it (9.3, 9.8)."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.rundry import Home
from fakes.web.corners import Reply
from fakes.web.site import Site

from rundry.agent.journal import Journal
from rundry.agent.protocol import ItemSkipped, RunEnded

GONE = Reply(b"gone", status=404)


def events(home: Home, kind: type) -> list:
    journal = Journal.open(home.journals()[-1])
    try:
        return [s.event for s in journal.read() if isinstance(s.event, kind)]
    finally:
        journal.close()


def test_a_crawl_is_seen_to_its_dry_end_and_browsed_and_watched_after_it(home: Home, tmp_path: Path):
    with Site(pages=60, routes={"/page/7": GONE}) as site:
        argv = ["find", "--recipe", "crawl", f"{site.url}/page/0", "--rate", "0"]
        with home.screen(*argv, cwd=home.root) as terminal:
            screen = terminal.wait_for(re.compile(r"dry, not complete"))
            assert re.search(r"frontier 0 +seen 60 +done 59", screen)
            assert "1 item failed for good" in screen
            assert "404" in screen
            assert "pages a second" not in screen, "nothing goes on"
            terminal.press("f2")
            terminal.wait_for("⏎ open")
            terminal.send("4")
            terminal.wait_for(re.compile(r"▌http.*/page/7 .*404"))
            terminal.press("enter")
            terminal.wait_for("esc back")
            terminal.press("ctrl+c", "ctrl+c")
            assert terminal.wait_for_exit() == 6
        (outcome,) = events(home, RunEnded)
        assert (outcome.reason, outcome.seen, outcome.complete) == ("dry", 60, False)
        with home.screen("watch", cwd=home.root, rows=24, columns=80) as terminal:
            terminal.wait_for("dry, not complete")
            terminal.wait_for("rundry resume")


def test_a_person_skips_an_item_of_the_queue_while_it_runs(home: Home, tmp_path: Path):
    with Site(pages=400) as site:
        argv = ["find", "--recipe", "crawl", f"{site.url}/page/0", "--rate", "8"]
        with home.screen(*argv, cwd=home.root) as terminal:
            terminal.wait_for(re.compile(r"done [1-9]"))
            terminal.press("f2")
            terminal.wait_for("⏎ open")
            terminal.press("f4")  # what stands under the cursor shall not move away
            terminal.wait_for("no new work starts until you press F4 to resume")
            terminal.wait_for("in flight   0")
            terminal.send("3")
            terminal.wait_for("s skip")
            terminal.press("end")
            terminal.wait_for(re.compile(r"▌http://127\S+"))
            terminal.send("s")
            while "once more" in (screen := terminal.wait_for(re.compile("skipped http|once more"))):
                terminal.send("s")  # it was too soon
            skipped = re.search(r"skipped (http://127\S+)", screen)
            assert skipped is not None
            terminal.wait_for(lambda lines: not any(f"▌{skipped[1]} " in line for line in lines))
            terminal.press("ctrl+c", "ctrl+c")
            terminal.wait_for("What should happen to it?")
            terminal.press("s")
            terminal.wait_for_exit()
        assert [event.key for event in events(home, ItemSkipped)] == [skipped[1]]
