"""A journal for the frontier."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from fakes.in_process.journals import make_journal
from fakes.web.site import Site
from search.finder.working import KEY, KEY_NAME

from rundry.agent.journal.journal import Journal
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.search.crawl.crawler import Crawler
from rundry.agent.search.items.frontier import Frontier
from rundry.agent.search.workers.python_worker import PythonWorker


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = make_journal(tmp_path / "runs" / "run.db")
    yield made
    made.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(pages=30) as site:
        yield site


@pytest.fixture
async def make_crawler() -> AsyncIterator[Callable[..., Crawler]]:
    async with AsyncExitStack() as stack:

        def make(site: Site, **settings: object) -> Crawler:
            crawler = Crawler([site.url + "/page/0"], **settings)
            stack.push_async_callback(crawler.close)
            return crawler

        yield make


@pytest.fixture
def frontier(journal: Journal) -> Frontier:
    return Frontier(journal)


@pytest.fixture
async def make_python(tmp_path: Path) -> AsyncIterator[Callable[..., PythonWorker]]:
    async with AsyncExitStack() as stack:

        def make(module: str, function: str = "tool:work", **settings: object) -> PythonWorker:
            (tmp_path / "tool.py").write_text(module)
            env = command_env({**os.environ, KEY_NAME: KEY})
            worker = PythonWorker(function, workspace=tmp_path, env=env, **{"sandbox": Sandbox(), **settings})
            stack.push_async_callback(worker.close)
            return worker

        yield make
