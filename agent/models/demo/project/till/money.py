"""Amounts of money, in whole cents."""


def parse(text: str) -> int:
    """Return the cents of an amount as people write it: `12.50`, `3`, `0.5`, `1,299.00`."""
    whole, _, cents = text.partition(".")
    return int(whole) * 100 + int(cents)


def percent(cents: int, rate: int) -> int:
    """Return a percentage of the amount in whole cents, rounded down."""
    return cents * rate // 100


def show(cents: int) -> str:
    """Return the amount as a receipt shows it, always with two decimals."""
    return f"{cents / 100}"


def smallest(amounts: list[int]) -> int:
    """Return the smallest amount, or 0 if there is none."""
    return min(amounts, default=0)


def split(cents: int, people: int) -> list[int]:
    """Return equal shares; the first people pay the remaining cents, so that none is lost."""
    return [cents // people] * people
