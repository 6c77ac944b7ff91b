from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from rundry.agent.protocol import UserError
from rundry.agent.settings.option_values import parse_deadline, parse_duration, parse_money, parse_number, parse_price


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("30s", 30.0),
        ("30m", 1800.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("2d", 172_800.0),
        ("500ms", 0.5),
        (" 10M ", 600.0),
        ("0", 0.0),
        ("none", None),
    ],
)
def test_a_duration_is_read(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("40", 40),
        ("2_000_000", 2_000_000),
        ("200k", 200_000),
        ("1.5M", 1_500_000),
        ("200,000", 200_000),
        ("None", None),
    ],
)
def test_a_number_is_read(text: str, number: int | None) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "usd"), [("0.50", 0.5), ("$5", 5.0), ("2", 2.0), (".25", 0.25), ("0", 0.0), ("none", None)]
)
def test_an_amount_of_money_is_read(text: str, usd: float | None) -> None:
    assert parse_money(text) == usd


@pytest.mark.parametrize("parse", [parse_duration, parse_number, parse_money])
@pytest.mark.parametrize("text", ["", " ", "-1", "nan", "inf", "1e9", "ten", "1__0x", "5 apples", "1m2", "9" * 40, "٣"])
def test_what_is_not_a_value_is_refused_with_the_fix(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(UserError, match=r"write .* none") as error:
        parse(text)
    assert repr(text) in str(error.value)


def test_no_whole_number_is_refused() -> None:
    with pytest.raises(UserError, match="whole number"):
        parse_number("1.5")


def test_a_price_is_two_amounts() -> None:
    assert parse_price("3/15") == (3.0, 15.0)
    assert parse_price("$0.25/$1.25") == (0.25, 1.25)
    for wrong in ("3", "3/", "/3", "3/none", "a/b", "1/2/3", "-1/2"):
        with pytest.raises(UserError, match="write IN/OUT"):
            parse_price(wrong)


def test_a_deadline_is_a_duration_a_time_or_a_date() -> None:
    now = datetime(2026, 11, 21, 12, 0).timestamp()
    assert parse_deadline("2h", now) == now + 7200
    assert parse_deadline("+90", now) == now + 90
    assert parse_deadline("18:30", now) == datetime(2026, 11, 21, 18, 30).timestamp()
    assert parse_deadline("9:05", now) == datetime(2026, 11, 22, 9, 5).timestamp()
    assert parse_deadline("2026-11-23T08:00", now) == datetime(2026, 11, 23, 8, 0).timestamp()
    assert parse_deadline("2026-11-23T08:00:00Z", now) == datetime(2026, 11, 23, 8, tzinfo=UTC).timestamp()
    assert parse_deadline("none", now) is None
    with pytest.raises(UserError, match="is in the past"):
        parse_deadline("2026-11-20", now)
    for wrong in ("tomorrow", "25:00", "2026-13-01", ""):
        with pytest.raises(UserError, match="not a deadline: write"):
            parse_deadline(wrong, now)
