"""What the runner sends to a Dask worker, and what it gets back. Plain data: nothing here imports Dask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import msgspec

from ...protocol import Rule
from ...protocol.version import VERSION

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
    """The sandbox of a user's command, function or check on a worker."""

    is_required: bool
    """Whether the runner has a sandbox: then a worker without one refuses the items."""
    not_held: list[str] | None = None
    """Names of the guarantees that the runner's sandbox does not give: a worker's sandbox must give all others. None
    means that any sandbox will do."""
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


class CheckOrder(msgspec.Struct, frozen=True):
    """A check of one file."""

    line: str
    """Command line of the check."""
    seconds: float
    """Time limit."""


class ReadOrder(msgspec.Struct, frozen=True):
    """A call of a reading tool."""

    tool: str
    arguments: dict[str, object]
    limit: int
    """Characters of the result."""
    seconds: float
    """Time limit."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """How the orders of one search are worked. A worker keeps its handler of the job for later batches."""

    versions: Versions
    workspace: str
    """Path of the workspace in the runner."""
    is_shared: bool = True
    """Whether the worker has the same folder at that path. If not, each batch names the tree of its files."""
    checks: bool = False
    """Whether the orders are checks."""
    reads: bool = False
    """Whether the orders are calls of reading tools."""
    private: list[str] = []
    """Files and folders of the runner that no tool may read."""
    seconds: float = 30.0
    """Time limit of one item."""
    crawl: CrawlJob | None = None
    command: list[str] = []
    function: str | None = None
    """`module:function`."""
    sandbox: SandboxJob | None = None
    keys: list[str] = []
    """Names of variables that hold keys of providers. Commands on a worker do not get them."""
    named: list[str] = []
    """Variables that the user named for commands (`--sandbox-env`)."""
    env: dict[str, str] = {}
    """Values of the named variables in the runner."""


class OrderAnswer(msgspec.Struct, frozen=True):
    """The result of one order of a batch."""

    worked: msgspec.Raw = msgspec.Raw(b"")
    """The encoded result. Empty means that the order was not worked."""
    seconds: float = 0.0
    error: str = ""
    """Why the order could not be worked. Both empty: it was not begun, which does not cost an attempt."""

    @property
    def is_worked(self) -> bool:
        """Whether there is a result."""
        return bool(bytes(self.worked))


class BatchResult(msgspec.Struct, frozen=True):
    """The results of a batch, in the order of its orders."""

    by: str
    """Address of the worker."""
    answers: list[OrderAnswer]
    needs: list[str] = []
    """Digests of what the worker needs before it can begin the batch."""
    refuses: str = ""
    """Why this worker cannot work any order of this search. Empty means that it can."""


def own_versions() -> Versions:
    """Return the versions of this process."""
    try:
        distributed = version("distributed")
    except PackageNotFoundError:
        distributed = ""
    return Versions(VERSION, f"{sys.version_info.major}.{sys.version_info.minor}", distributed)


def encode_order(order: msgspec.Struct) -> bytes:
    """Encode an order as ASCII: the name of a file may hold bytes that are not UTF-8, as lone surrogates."""
    return json.dumps(msgspec.to_builtins(order)).encode()


def join_orders(orders: Sequence[bytes]) -> bytes:
    """Encode the orders of a batch."""
    return b"[" + b",".join(orders) + b"]"


def split_orders(data: bytes) -> list[object]:
    """Return the orders of a batch, for `msgspec.convert`."""
    return json.loads(data)


def encode_answer(worked: msgspec.Struct, seconds: float) -> bytes:
    """Encode the result of an order; one that is too large becomes an error."""
    try:
        data = msgspec.json.encode({"worked": worked, "seconds": seconds})
    except UnicodeEncodeError:
        return encode_error("the result has text that is not UTF-8", seconds)
    if len(data) <= LARGEST:
        return data
    return encode_error(
        f"the result has {len(data):,} bytes: a worker of --executor may return {LARGEST:,} for an item", seconds
    )


def encode_error(error: str, seconds: float = 0.0) -> bytes:
    """Encode the reason why an order could not be worked."""
    return msgspec.json.encode({"seconds": seconds, "error": error.encode("utf-8", "replace").decode()})


NOT_BEGUN = b"{}"
"""The answer for an order that was not begun."""


def join_answers(by: str, answers: Sequence[bytes], needs: Sequence[str] = (), refuses: str = "") -> bytes:
    """Encode the result of a batch from encoded answers."""
    head = b'{"by":' + msgspec.json.encode(by) + b',"needs":' + msgspec.json.encode(list(needs))
    head += b',"refuses":' + json.dumps(refuses).encode()
    return head + b',"answers":[' + b",".join(answers) + b"]}"


@dataclass(frozen=True, slots=True)
class WorkerFunctions:
    """The functions that a Dask worker calls. Dask sends their names only, and the worker imports them."""

    work: Callable[[bytes, bytes, str, str], bytes]
    """Works a batch: the job, the orders, the name of the batch, and the digest of its files."""
    cancel: Callable[[Sequence[str]], None]
    """Ends these batches."""
    lacking: Callable[[Sequence[str]], list[str]]
    """Returns which of these pieces the worker lacks."""
    put: Callable[[Sequence[tuple[str, bytes]]], None]
    """Stores pieces."""
    check_sandbox: Callable[[bytes], str]
    """Returns why the sandbox of the worker cannot be used for an encoded `SandboxJob`; empty if it can."""
