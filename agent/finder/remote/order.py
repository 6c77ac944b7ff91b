"""What the runner sends to a Dask worker, and what it gets back. Plain data: nothing here imports Dask."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from ...protocol import Rule
from ...version import VERSION
from ..workers.worker import ItemResult, WorkItem

LARGEST = 16_000_000
"""Most bytes of one item's result. All results of a batch pass the scheduler, whose memory they take."""


class Versions(msgspec.Struct, frozen=True):
    """The versions that must be equal in the runner and on each worker."""

    rundry: str
    python: str
    """The first two numbers."""
    distributed: str

    def difference(self, other: Versions) -> str | None:
        """Return the first difference as words for a person: theirs, then ours."""
        for name in ("rundry", "python", "distributed"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                return f"{name.replace('python', 'Python')} {theirs or '(missing)'}, the runner has {ours}"
        return None


class SandboxJob(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox of a user's command or function on a worker."""

    is_required: bool
    """Whether the runner has a sandbox: then a worker without one refuses the items."""
    network: bool
    hosts: list[str]
    own: list[str]
    hide: list[str]
    show: list[str]
    rules: list[Rule]
    """Rules of the gate: commands cannot read the paths that one denies."""


class CrawlJob(msgspec.Struct, frozen=True, kw_only=True):
    """The scope of a crawl. robots.txt and the rate are kept in the runner, because they hold for all workers."""

    seeds: list[str]
    include: list[str]
    exclude: list[str]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """How the items of one search are worked. It is the same for all batches, and a worker keeps what it made of it."""

    versions: Versions
    workspace: str
    seconds: float = 30.0
    """Time limit of one item."""
    crawl: CrawlJob | None = None
    command: list[str] = []
    function: str | None = None
    """`module:function`, if neither a crawl nor a command."""
    sandbox: SandboxJob | None = None
    keys: list[str] = []
    """Names of variables that hold keys of providers. Commands on a worker do not get them."""
    named: list[str] = []
    """Variables that the user named for commands (`--sandbox-env`)."""
    env: dict[str, str] = {}
    """Values of the named variables in the runner."""


class Answer(msgspec.Struct, frozen=True):
    """The result of one item of a batch."""

    worked: ItemResult | None
    """None: the batch took too long, so the item was not begun. It did not cost an attempt."""
    seconds: float = 0.0


class BatchResult(msgspec.Struct, frozen=True):
    """The results of a batch, in the order of its items."""

    by: str
    """Address of the worker."""
    answers: list[Answer]


def own_versions() -> Versions:
    """Return the versions of this process."""
    try:
        distributed = version("distributed")
    except PackageNotFoundError:
        distributed = ""
    return Versions(VERSION, f"{sys.version_info.major}.{sys.version_info.minor}", distributed)


def encode_items(items: Sequence[WorkItem]) -> bytes:
    """Encode items as ASCII: the name of a file may hold bytes that are not UTF-8, as lone surrogates."""
    return json.dumps([msgspec.to_builtins(item) for item in items]).encode()


def decode_items(data: bytes) -> list[WorkItem]:
    """Return what `encode_items` encoded."""
    return msgspec.convert(json.loads(data), list[WorkItem])


def encode_answer(worked: ItemResult, seconds: float) -> bytes:
    """Encode the result of an item; one that is too large becomes an error of the item."""
    try:
        data = msgspec.json.encode(Answer(worked, seconds))
    except UnicodeEncodeError:
        data = msgspec.json.encode(Answer(ItemResult(error="the result has text that is not UTF-8"), seconds))
    if len(data) <= LARGEST:
        return data
    error = f"the result has {len(data):,} bytes: a worker of --executor may return {LARGEST:,} for an item"
    return msgspec.json.encode(Answer(ItemResult(error=error), seconds))


NOT_BEGUN = msgspec.json.encode(Answer(None))
"""The answer for an item that was not begun."""


def join_answers(by: str, answers: Sequence[bytes]) -> bytes:
    """Encode the result of a batch from encoded answers."""
    return b'{"by":' + msgspec.json.encode(by) + b',"answers":[' + b",".join(answers) + b"]}"
