"""Read what a server asks a person, as one question for each field, and check the answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast
from urllib.parse import urlsplit

import msgspec

from ...host.internet import is_this_machine
from ...protocol import RundryError, UserError
from .tool_listing import clean

if TYPE_CHECKING:
    from ...protocol import McpServer

Answers = dict[str, Any]
MOST_FIELDS = 20
MOST_CHOICES = 40
LONGEST_ADDRESS = 2_000
DECLINE, SKIP, OPENED = "Decline", "Skip", "I opened it"
_MESSAGE, _TITLE, _ABOUT = 1_000, 100, 300
"""Characters of a server's words that a question has."""
_LONGEST_ANSWER = 10_000
_PRIVACY = "Your answer goes to this server and stays in the journal: do not give it a password."
_FORMATS = {
    "email": "an e-mail address",
    "uri": "an address",
    "date": "a date such as 2026-11-30",
    "date-time": "a time such as 2026-11-30T14:00",
}
Kind = Literal["text", "number", "integer", "flag", "choice", "several"]
"""What answers a field."""


class CannotAsk(RundryError):
    """What the server asks for cannot be a question to a person."""


class Person(Protocol):
    """Answers the questions."""

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """Return the answer, or None if nobody is there."""
        ...


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a form."""

    name: str
    title: str
    about: str
    kind: Kind
    required: bool
    choices: dict[str, Any] = {}
    """What the person chooses from, and the value of each."""
    least: float = -math.inf
    most: float = math.inf
    """Limits of a number, of the characters of a text, or of the number of chosen values."""
    format: str = ""
    default: Any = None

    @property
    def options(self) -> list[str]:
        """The options of the question; empty if the answer is a text."""
        if self.kind not in ("flag", "choice"):
            return []
        return [*self.choices, *([] if self.required else [SKIP]), DECLINE]

    @property
    def wants(self) -> str:
        """What answers the question, in one sentence."""
        span = _span(self.least, self.most)
        match self.kind:
            case "flag" | "choice":
                words = "Choose one"
            case "several":
                rows = [f"{number}  {choice}" for number, choice in enumerate(self.choices, 1)]
                words = "\n".join(["Choose any, with commas between them" + (f" ({span})" if span else ""), *rows, ""])
            case "number" | "integer":
                words = "A number" if self.kind == "number" else "A whole number"
                words += f", {span}" if span else ""
            case "text":
                words = f"A text{f', {span} characters' if span else ''}"
                words = f"{words}: {_FORMATS[self.format]}" if self.format in _FORMATS else words
        known = f" It suggests {self._suggestion}." if self.default is not None else ""
        left_out = "" if self.required else f" `{SKIP.lower()}` leaves it out."
        return f"{words}{'' if words.endswith(chr(10)) else '.'}{known}{left_out} `{DECLINE.lower()}` declines."

    @property
    def _suggestion(self) -> str:
        shown = {json.dumps(value): label for label, value in self.choices.items()}
        given = cast("list[object]", self.default) if isinstance(self.default, list) else [self.default]
        words = [shown.get(json.dumps(one)) or _one_line(str(one), _TITLE) for one in given[:MOST_CHOICES]]
        return ", ".join(f"`{word}`" for word in words) or "nothing"

    def read(self, text: str) -> object:
        """Return the value of an answer. Raises UserError."""
        if len(text) > _LONGEST_ANSWER:
            raise UserError(f"the answer has {len(text):,} characters: write at most {_LONGEST_ANSWER:,}")
        match self.kind:
            case "flag" | "choice":
                return self._chosen(text)
            case "several":
                parts = [part.strip() for part in text.split(",") if part.strip()]
                found = list(dict.fromkeys(self._chosen(part) for part in parts))
                self._check_size(len(found), "chosen values")
                return found
            case "number" | "integer":
                return self._number(text)
            case "text":
                self._check_size(len(text), "characters")
                self._check_format(text)
                return text

    def _chosen(self, text: str) -> Any:  # noqa: ANN401 - a value of a foreign schema
        labels = list(self.choices)
        if self.kind == "several" and text.isdecimal() and 1 <= int(text) <= len(labels):
            return self.choices[labels[int(text) - 1]]
        found = [label for label in labels if text in (label, str(self.choices[label]))]
        found = found or [label for label in labels if label.casefold() == text.casefold()]
        if len(found) != 1:
            raise UserError(f"{text[:_TITLE]!r} is not one of the choices")
        return self.choices[found[0]]

    def _number(self, text: str) -> float:
        try:
            number = int(text) if self.kind == "integer" and len(text) < 20 else float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or (self.kind == "integer" and not isinstance(number, int)):
            raise UserError(f"{text[:_TITLE]!r} is not a {'whole ' if self.kind == 'integer' else ''}number")
        if not self.least <= number <= self.most:
            raise UserError(f"{text[:_TITLE]} is not {_span(self.least, self.most)}")
        return number

    def _check_size(self, size: int, of: str) -> None:
        if not self.least <= size <= self.most:
            raise UserError(f"the answer has {size} {of}, not {_span(self.least, self.most)}")

    def _check_format(self, text: str) -> None:
        try:
            match self.format:
                case "email":
                    name, _, host = text.partition("@")
                    is_right = bool(name and host) and "@" not in host and not any(map(str.isspace, text))
                case "uri":
                    is_right = bool(urlsplit(text).scheme) and not any(map(str.isspace, text))
                case "date":
                    is_right = bool(date.fromisoformat(text))
                case "date-time":
                    is_right = bool(datetime.fromisoformat(text))
                case _:
                    is_right = True
        except ValueError:
            is_right = False
        if not is_right:
            raise UserError(f"{text[:_TITLE]!r} is not {_FORMATS[self.format]}")


async def answers_to(params: Mapping[str, Any], server: McpServer, person: Person) -> Answers | None:
    """Ask the person what a server wants to know. Returns None if the person declined, or nobody is there.

    Raises CannotAsk.
    """
    words = _one_line(params.get("message"), _MESSAGE)
    asks = f"MCP server {server.name} asks: {words}" if words else f"MCP server {server.name} asks:"
    if params.get("mode") == "url":
        return await _opened(params, server, asks, person)
    found: Answers = {}
    fields = read_fields(params.get("requestedSchema"))
    for number, one in enumerate(fields, 1):
        place = f" ({number} of {len(fields)})" if len(fields) > 1 else ""
        head = [asks, f"{one.title}{place}{f': {one.about}' if one.about else ''}"]
        answer = await _one_answer(one, [*head, one.wants, *([_PRIVACY] if number == 1 else [])], person)
        if answer is None:
            return None
        found |= answer
    if not fields:
        said = await person.ask(f"{asks}\nIt wants to know whether you agree.", ["Accept", DECLINE])
        return {} if said == "Accept" else None
    return found


async def _one_answer(one: Field, lines: Sequence[str], person: Person) -> Answers | None:
    """Ask until the answer fits. Returns no value for a field that the person leaves out."""
    problem: list[str] = []
    while True:
        said = await person.ask("\n".join([*problem, *lines]), one.options)
        said = None if said is None else said.strip()
        if said is None or said.casefold() == DECLINE.casefold():
            return None
        if said.casefold() == SKIP.casefold() and not one.required:
            return {}
        try:
            return {one.name: one.read(said)}
        except UserError as error:
            problem = [f"Not sent: {error}."]


async def _opened(params: Mapping[str, Any], server: McpServer, asks: str, person: Person) -> Answers | None:
    url = read_address(params.get("url"), server)
    wants = f"It wants you to open this address of {urlsplit(url).hostname} in your browser:"
    about = "rundry does not open it, and does not see what you enter there. Open it only if you know the host."
    while True:
        said = await person.ask("\n".join([asks, wants, url, about]), [OPENED, DECLINE])
        if said is None or said.strip().casefold() == DECLINE.casefold():
            return None
        if said.strip().casefold() == OPENED.casefold():
            return {}


def read_address(url: object, server: McpServer) -> str:
    """Return an address that a server may send a person to. Raises CannotAsk."""
    if not isinstance(url, str) or len(url) > LONGEST_ADDRESS or not url.isascii() or not url.isprintable():
        raise CannotAsk(f"its address is not a text of at most {LONGEST_ADDRESS:,} ASCII characters")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise CannotAsk("its address is not a URL") from None
    is_here = is_this_machine(host)
    is_local = server.url is None or is_this_machine(urlsplit(server.url).hostname or "")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here and is_local):
        raise CannotAsk("its address does not begin with https://")
    if not host or " " in url or "\\" in url:
        raise CannotAsk("its address is not a URL")
    if parts.username is not None or parts.password is not None:
        raise CannotAsk("its address has a user name or a password, which hides the host")
    if is_here and not is_local:
        raise CannotAsk("its address leads to this machine")
    return url


def read_fields(schema: object) -> list[Field]:
    """Return the fields of a flat schema. Raises CannotAsk."""
    table = _table(schema)
    properties = _table(table.get("properties", {}))
    if table.get("type", "object") != "object" or len(properties) > MOST_FIELDS:
        raise CannotAsk(f"its schema is not an object with at most {MOST_FIELDS} fields")
    required = table.get("required", [])
    required = cast("list[object]", required) if isinstance(required, list) else []
    return [_field(name, _table(row), is_required=name in required) for name, row in properties.items()]


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CannotAsk("its schema is not flat")
    return cast("dict[str, Any]", value)


def _field(name: str, row: dict[str, Any], *, is_required: bool) -> Field:
    row = _without_null(row)
    kind, limits = _kind(row)
    choices = _choices(_table(row.get("items")) if kind == "several" else row)
    if kind in ("choice", "several") and not choices:
        raise CannotAsk("its schema is not flat")
    return Field(
        name=name,
        title=_one_line(row.get("title") or name, _TITLE),
        about=_one_line(row.get("description"), _ABOUT),
        kind=kind,
        required=is_required,
        choices=choices if kind != "flag" else {"Yes": True, "No": False},
        least=_limit(row.get(limits[0]), -math.inf),
        most=_limit(row.get(limits[1]), math.inf),
        format=str(row.get("format", "")) if row.get("format") in _FORMATS and kind == "text" else "",
        default=row.get("default"),
    )


def _kind(row: dict[str, Any]) -> tuple[Kind, tuple[str, str]]:
    """Return the kind of a field, and the keywords of its limits."""
    match row.get("type", "string"):
        case "string" if "enum" in row or "oneOf" in row or "anyOf" in row:
            return "choice", ("", "")
        case "string":
            return "text", ("minLength", "maxLength")
        case "number":
            return "number", ("minimum", "maximum")
        case "integer":
            return "integer", ("minimum", "maximum")
        case "boolean":
            return "flag", ("", "")
        case "array":
            return "several", ("minItems", "maxItems")
        case _:
            raise CannotAsk("its schema is not flat")


def _without_null(row: dict[str, Any]) -> dict[str, Any]:
    """Return the only kind that is not null, where a schema allows null, too."""
    either = row.get("anyOf")
    if "type" in row or not isinstance(either, list):
        return row
    others = [_table(one) for one in cast("list[object]", either) if _table(one).get("type") != "null"]
    if len(others) != 1:
        return row
    return {key: value for key, value in row.items() if key != "anyOf"} | others[0]


def _choices(row: dict[str, Any]) -> dict[str, Any]:
    """Return the choices of a field by what the person reads, or none if it is a text or a number."""
    titled = row.get("oneOf") or row.get("anyOf")
    if isinstance(titled, list):
        rows = [_table(one) for one in cast("list[object]", titled)]
        values, names = [one.get("const") for one in rows], [one.get("title") for one in rows]
    elif isinstance(row.get("enum"), list):
        values = cast("list[object]", row["enum"])
        given = row.get("enumNames")
        given = cast("list[object]", given) if isinstance(given, list) else []
        names = given if len(given) == len(values) else values
    else:
        return {}
    if not 1 <= len(values) <= MOST_CHOICES or not all(isinstance(value, str) for value in values):
        raise CannotAsk(f"its choices are not 1 to {MOST_CHOICES} texts")
    labels = [_one_line(name or value, _TITLE) for name, value in zip(names, values, strict=True)]
    if len(set(labels)) < len(labels):
        raise CannotAsk("two of its choices look the same")
    return dict(zip(labels, values, strict=True))


def _limit(value: object, usual: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else usual


def _span(least: float, most: float) -> str:
    """Return the limits in words, or an empty text if there are none."""
    if math.isinf(least) and math.isinf(most):
        return ""
    if math.isinf(most):
        return f"at least {least:g}"
    return f"at most {most:g}" if math.isinf(least) else f"from {least:g} to {most:g}"


def _one_line(value: object, most: int) -> str:
    """Return words of the server in one line, so that they cannot look like those of the program."""
    text = " ".join(clean(value if isinstance(value, str) else "").split())
    return text if len(text) <= most else f"{text[:most]} …"
