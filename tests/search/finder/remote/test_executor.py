"""The value of `--executor`, the size of batches, and what travels between the runner and a worker."""

from __future__ import annotations

import msgspec
import pytest

from rundry.agent.protocol import UserError
from rundry.agent.search.items.item_state import Candidate
from rundry.agent.search.remote.batches import BATCH_SECONDS, MOST_ITEMS, BatchSize
from rundry.agent.search.remote.order import (
    LARGEST,
    NOT_BEGUN,
    BatchResult,
    Versions,
    encode_answer,
    encode_order,
    join_answers,
    join_orders,
    split_orders,
)
from rundry.agent.search.workers.worker import ItemResult, WorkItem
from rundry.agent.settings.search.executor import read_executor


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("dask://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("dask://localhost:8786", "tcp://localhost:8786"),
        ("dask://[::1]:8786/", "tcp://[::1]:8786"),
        ("tls://cluster.example:8786", "tls://cluster.example:8786"),
        ("tls://[2001:db8::1]:8786", "tls://[2001:db8::1]:8786"),
    ],
)
def test_the_address_of_a_scheduler_is_read(text: str, address: str):
    assert read_executor(text).address == address


def test_a_local_cluster_is_read_with_its_size():
    assert read_executor("dask").address is None
    assert read_executor("dask").workers >= 1
    assert (read_executor("dask:2x8").workers, read_executor("dask:2x8").threads) == (2, 8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ray", "write dask"),
        ("dask:", "write dask"),
        ("dask://", "write dask"),
        ("tcp://127.0.0.1:8786", "write dask"),
        ("dask:0x4", "1 to 1,024 threads"),
        ("dask:2000x4", "1 to 1,024 threads"),
        ("dask://127.0.0.1", "host and port"),
        ("dask://127.0.0.1:99999", "host and port"),
        ("dask://user:secret@127.0.0.1:8786", "host and port"),
        ("dask://127.0.0.1:8786/x", "host and port"),
        ("dask://10.0.0.5:8786", "write tls://10.0.0.5:8786"),
        ("dask://cluster.example:8786", "TLS is required"),
        ("dask://0.0.0.0:8786", "TLS is required"),
        ("dask://[2001:db8::1]:8786", "write tls://[2001:db8::1]:8786"),
    ],
)
def test_another_value_is_refused_with_what_to_write(text: str, words: str):
    with pytest.raises(UserError) as refused:
        read_executor(text)
    assert f"--executor {text}" in str(refused.value)
    assert words in str(refused.value)


def test_the_first_batches_have_one_item_because_its_duration_is_unknown():
    assert BatchSize().size(waiting=1_000, free=4) == 1


@pytest.mark.parametrize(
    ("seconds", "items"), [(0.2, 2), (0.01, 50), (5.0, 1), (0.0, MOST_ITEMS), (0.00001, MOST_ITEMS)]
)
def test_a_batch_takes_about_half_a_second(seconds: float, items: int):
    size = BatchSize()
    size.note(10, seconds * 10)
    assert size.size(waiting=100_000, free=1) == items
    assert items == 1 or items * seconds <= BATCH_SECONDS


def test_few_items_are_shared_by_all_free_threads():
    size = BatchSize()
    size.note(10, 0.01)
    assert size.size(waiting=6, free=4) == 2
    assert size.size(waiting=3, free=4) == 1


def test_the_size_follows_items_that_become_slower():
    size = BatchSize()
    size.note(1, 0.01)
    for _ in range(30):
        size.note(1, 1.0)
    assert size.size(waiting=1_000, free=1) == 1


def test_an_item_whose_name_is_not_utf8_arrives_unchanged():
    items = [WorkItem("file", "a\udcff", "/w/a\udcff", 2, "seed")]
    sent = join_orders([encode_order(item) for item in items])
    assert msgspec.convert(split_orders(sent), list[WorkItem]) == items


def test_results_travel_in_the_order_of_the_items():
    worked = ItemResult(items=[Candidate("value", "é")], found_new=True, reason="r", retry_after=2.0)
    result = msgspec.json.decode(join_answers("tls://w", [encode_answer(worked, 0.5), NOT_BEGUN]), type=BatchResult)
    assert result.by == "tls://w"
    first, second = result.answers
    assert msgspec.json.decode(first.worked, type=ItemResult) == worked
    assert (first.is_worked, second.is_worked, second.error) == (True, False, "")
    assert result.answers[0].seconds == 0.5


def test_a_result_that_is_too_large_is_a_failure_of_its_item_that_names_the_limit():
    answer = encode_answer(ItemResult(reason="x" * LARGEST), 0.1)
    assert len(answer) < 1_000
    assert b"16,000,000" in answer


def test_the_first_different_version_is_named():
    ours = Versions("1.0", "3.11", "2026.8.0")
    assert ours.difference(ours) is None
    assert ours.difference(Versions("0.9", "3.12", "2026.8.0")) == "rundry 0.9, the runner has 1.0"
    assert ours.difference(Versions("1.0", "3.12", "2026.8.0")) == "Python 3.12, the runner has 3.11"
    assert ours.difference(Versions("", "3.11", "2026.8.0")) == "rundry (missing), the runner has 1.0"
