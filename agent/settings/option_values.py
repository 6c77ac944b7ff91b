"""Parse durations, numbers, money, prices, times and addresses as people write them. The functions raise UserError."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from ..protocol import UserError
from .value_schema import ADDRESS, takes

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SPAN = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|d|h|m|s))+", re.ASCII)
_SPAN_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|d|h|m|s)")
_PLAIN = re.compile(r"\d{1,15}(?:\.\d{1,12})?|\.\d{1,12}", re.ASCII)
_REAL = re.compile(rf"(?:{_PLAIN.pattern})(?:e[+-]?\d{{1,3}})?", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def parse_duration(text: str) -> float | None:
    """Parse a duration to seconds: `90`, `30s`, `10m`, `1h30m`, `2d`; None for `none`."""
    clean = _clean(text)
    if clean == "none":
        return None
    if _PLAIN.fullmatch(clean):
        return float(clean)
    if _SPAN.fullmatch(clean):
        return sum(float(number) * _UNITS[unit] for number, unit in _SPAN_PART.findall(clean))
    raise UserError(f"{text!r} is not a duration: write 90 (seconds), 30s, 10m, 1h30m or none")


def parse_number(text: str) -> int | None:
    """Parse a whole number: `40`, `2_000_000`, `200k`, `1.5m`; None for `none`."""
    clean = _clean(text)
    if clean == "none":
        return None
    digits, factor = (clean[:-1], _FACTORS[clean[-1]]) if clean[-1:] in ("k", "m", "g") else (clean, 1)
    if _PLAIN.fullmatch(digits):
        number = float(digits) * factor if "." in digits else int(digits) * factor
        if number == int(number):
            return int(number)
    raise UserError(f"{text!r} is not a whole number of at least 0: write 40, 2_000_000, 200k or none")


def parse_money(text: str) -> float | None:
    """Parse an amount in USD: `0.50`, `$5`, `2`; None for `none`."""
    clean = _clean(text).removeprefix("$")
    if clean == "none":
        return None
    if _PLAIN.fullmatch(clean):
        return float(clean)
    raise UserError(f"{text!r} is not an amount of US dollars: write 0.50, 5 or none")


def parse_real(text: str) -> float | None:
    """Parse a number of at least 0: `0.25`, `2`, `1e-6`; None for `none`."""
    clean = _clean(text)
    if clean == "none":
        return None
    if _REAL.fullmatch(clean) and math.isfinite(float(clean)):
        return float(clean)
    raise UserError(f"{text!r} is not a number of at least 0: write for example 0.25, 2 or 1e-6")


def parse_price(text: str) -> tuple[float, float]:
    """Parse prices in USD per million tokens, input and output: `3/15`."""
    given, slash, produced = text.partition("/")
    try:
        prices = parse_money(given), parse_money(produced)
    except UserError:
        prices = None, None
    if not slash or prices[0] is None or prices[1] is None:
        raise UserError(f"{text!r} is not a price: write IN/OUT in USD per million tokens, such as 3/15 or 0/0")
    return prices[0], prices[1]


def parse_deadline(text: str, now: float) -> float | None:
    """Parse a deadline to Unix seconds: a duration (`2h`), the next `18:00`, an ISO date and time; None for `none`."""
    clean = text.strip()
    clock = _CLOCK.fullmatch(clean)
    today = datetime.fromtimestamp(now).astimezone()
    if clock is not None:
        moment = today.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0, tzinfo=None)
        moment = moment if moment.astimezone() > today else moment + timedelta(days=1)
        return moment.timestamp()
    try:
        seconds = parse_duration(clean.removeprefix("+"))
    except UserError:
        try:
            return _upcoming(datetime.fromisoformat(clean).timestamp(), text, now)
        except ValueError as error:
            raise UserError(
                f"{text!r} is not a deadline: write a duration (2h), a time (18:00), "
                "a date and time (2026-12-31T18:00) or none"
            ) from error
    return None if seconds is None else now + seconds


def check_amount(value: float) -> float:
    """Return the number if it is finite and not negative. Raises UserError."""
    if not math.isfinite(value) or value < 0:
        raise UserError(f"{value} is out of range: write 0 or more, or none for no limit")
    return value


def _upcoming(moment: float, text: str, now: float) -> float:
    if moment <= now:
        raise UserError(f"{text!r} is in the past: write a later deadline")
    return moment


def _clean(text: str) -> str:
    stripped = text.strip().lower()
    return re.sub(r"(?<=\d)[_,](?=\d{3})", "", stripped) if "," in stripped else re.sub(r"(?<=\d)_(?=\d)", "", stripped)


def is_address(text: str) -> bool:
    """Return whether a text is the http or https address of a server."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises ValueError for a port that is not a number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable()


@takes(ADDRESS)
def read_address(value: object, now: float) -> str:
    """Read the address of a model server."""
    del now
    if not isinstance(value, str) or not is_address(value.strip()):
        raise UserError(f"{value!r} is not a server address: write it like http://127.0.0.1:8080/v1")
    return value.strip()


@takes(ADDRESS)
def read_search_server(value: object, now: float) -> str:
    """Read the address of a search provider. Raises UserError."""
    del now
    address = value.strip().rstrip("/") if isinstance(value, str) else ""
    if not is_address(address) or {*"?#"} & {*address}:
        raise UserError(f"{value!r} is not the address of a server: write it like http://127.0.0.1:8888")
    if "@" in urlsplit(address).netloc:
        raise UserError("the address of a search provider cannot contain a password: name its variable as key_from")
    return address


@takes(ADDRESS)
def read_collector(value: object, now: float) -> str:
    """Read the address of a collector of spans. Raises UserError."""
    del now
    if not isinstance(value, str) or not is_address(value.strip()):
        raise UserError(f"{value!r} is not the address of a collector: write it like http://127.0.0.1:4318")
    address = value.strip()
    if "@" in urlsplit(address).netloc:
        raise UserError("the address of a collector cannot contain a password: put it into OTEL_EXPORTER_OTLP_HEADERS")
    return address
