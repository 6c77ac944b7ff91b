"""A link that leads nowhere is a finding of a crawl, with the page that has the link."""

from __future__ import annotations

import json

from fakes.in_process.headless_run import Played, resume_run
from fakes.rundry import Home
from fakes.web.crawling import crawled
from fakes.web.odd_pages import Reply, html
from fakes.web.site import Site


def dead_links(run: Played) -> dict[str, str]:
    """Title without the address of the site, to the page that has the link."""
    return {event["title"]: event["evidence"] for event in run.of("finding_reported")}


async def test_a_link_to_a_missing_page_is_a_finding_that_names_the_page_with_the_link(tmp_path):
    with Site(routes={"/start": Reply(html("/ok", "/missing", "/forbidden")), "/ok": Reply(html("/missing"))}) as site:
        run = await crawled(tmp_path, site)
    assert dead_links(run) == {"dead link /missing: 404 Not Found": f"{site.url}/start"}, run.story()
    assert "dead link /missing" in run.result.answer and "Not judged" not in run.result.answer
    assert (run.result.complete, run.result.findings.confirmed) == (False, 1)


async def test_a_page_that_fails_is_a_dead_link_only_after_its_last_try(tmp_path):
    routes = {"/start": Reply(html("/flaky/1", "/broken"))}
    with Site(pages=1, routes=routes) as site:
        run = await crawled(tmp_path, site, retries=1)
    assert list(dead_links(run)) == ["dead link /broken: 500 Internal Server Error"], run.story()


async def test_a_dead_link_that_answers_after_a_resume_is_refuted(tmp_path):
    site = Site(
        routes={"/start": Reply(html("/later")), "/later": lambda n: Reply(b"<p>now", status=404 if n == 1 else 200)}
    )
    with site:
        first = await crawled(tmp_path, site)
        second = await resume_run(tmp_path / "run.db")
    assert first.result.findings.confirmed == 1
    judged = second.of("finding_judged")[-1]
    assert (judged["verdict"], judged["reasons"]) == ("refuted", ["the page was read later"]), second.story()
    assert (second.result.complete, second.result.findings.confirmed) == (True, 0)


def test_the_crawl_of_the_command_line_exports_each_dead_link_with_all_pages_that_have_it(home: Home, tmp_path):
    routes = {"/start": Reply(html("/a", "/missing")), "/a": Reply(html("/missing", "/start"))}
    place = tmp_path / "place"
    place.mkdir()
    with Site(routes=routes) as site:
        ran = home.run("find", "--recipe", "crawl", f"{site.url}/start", "--headless", cwd=place)
        assert ran.exit_code == 6, ran
        assert "dead link /missing: 404 Not Found" in ran.stdout + ran.stderr
        log = json.loads(home.run("export", "--format", "sarif", cwd=place).stdout)
        (result,) = log["runs"][0]["results"]
        uris = [each["physicalLocation"]["artifactLocation"]["uri"] for each in result["locations"]]
        assert (result["ruleId"], uris) == ("dead-link", [f"{site.url}/start", f"{site.url}/a"])
