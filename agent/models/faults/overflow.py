"""Recognise that a provider refused a prompt as too long, by the structure of its words.

Providers word this error in too many ways for a list of sentences. A sentence reports an overflow if it names a part of
the prompt, a size, and that the size is exceeded, or if it gives a size of the prompt that is larger than a limit.
Parameters that limit the answer, rates, images and other fields are recognised and do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}\b)")
_SENTENCE_END = re.compile(r"(?<=[.!?;。；])\s+|\n")
_PREFIX = re.compile(r"\b(input )?validation error\b|\binvalid (request|input|params?|parameters?|argument)s?\b", re.I)
"""Names of errors that contain a word for the prompt."""
_OUTPUT = re.compile(
    r"\b(?:[a-z]+[_-]){1,4}tokens\b|\bn_predict\b|"
    r"\b(?:completion|output|generated|generation|response|new|reasoning|thinking)[ -]?tokens?\b|"
    r"\b(?:output|response|completion|generation) (?:length|size|limit)",
    re.I,
)
"""Parameters and sizes of the answer, such as `max_tokens`."""
_PROMPT_TOKENS = re.compile(
    r"\b(?:\w+_)?(input|inputs|prompt|context|messages?|request|total|sequence)[_-]tokens\b", re.I
)
_ANSWER = "OUT"

_PART = re.compile(
    r"\b(?:prompts?|inputs?|contexts?|messages?|conversation|history|sequence|transcript|instructions|requests?|requested|"
    r"query|contents?|model)\b",
    re.I,
)
"""A part of the prompt, or what it has to fit into."""
_TOKENS = re.compile(r"\btokens?\b", re.I)
_SIZE = re.compile(r"\b(?:context|length|window|size)\b", re.I)
_EXCEEDS = re.compile(
    r"\b(?:exceed(?:s|ed|ing)?|overflow(?:s|ed)?|surpass(?:es|ed)?|over\b|beyond\b|above\b|out of range|"
    r"(?:longer|greater|larger|bigger|higher|more) than(?! or equal)|too (?:long|large|many|big)|"
    r"only supports?|supports? (?:only|at most|up to)|maximum of|(?:not|n't) fit|cannot be (?:longer|larger|more)|"
    r"(?:must|should|can|may) (?:be|have|contain)?\s?(?:less|fewer|at most|no more|no longer|smaller|shorter|"
    r"under|below|up to|within|in the range|between)\b)|\b(?:must|should) be (?:<|≤|\[)",
    re.I,
)
_PART_TOO_LONG = re.compile(
    r"\b(?:prompts?|inputs?|contexts?|conversation|history|transcript|sequence|messages)\b"
    r"[\w \-()]{0,60}\b(?:too (?:long|large|big)|overflow|exceeded)\b|"
    r"\btoo (?:long|large|big|many)[\w ]{0,20} (?:prompt|input|context|conversation|messages)\b|"
    r"\btoo many (?:\w+ )?tokens\b|"
    r"\brequest(?: is)? too (?:long|large|big) for \w",
    re.I,
)
_MOST = re.compile(
    r"\bmax(?:imum)? (?:\w+ )?(?:context|prompt|input|sequence|model)[ -](?:length|size|window|limit|tokens?)\b|"
    r"\b(?:context|prompt|input|sequence|model)[ -](?:max(?:imum)? )?(?:length|size|window|limit)s? "
    r"(?:is |was |has been |of |exceed|only )|"
    r"\breduce (?:the )?(?:length|size|number of tokens) (?:of|in) (?:the |your )?(?:\w+ )?"
    r"(?:messages?|prompts?|inputs?|conversation)|\bn ctx\b",
    re.I,
)
"""The limit of the prompt, which servers name only in an error about it."""
_CHINESE = re.compile(
    r"(prompt|tokens?|输入|上下文|提示词|消息|请求|对话|文本).{0,30}(超长|过长|太长|超过|超出|超限|大于)|"
    r"(超长|过长|太长|超过|超出|超限).{0,30}(tokens?|上下文|长度)",
    re.I,
)
_CODE = re.compile(
    r"\b(?:context|prompt|input|sequence) (?:\w+ ){0,2}(?:exceeded|overflow|too (?:long|large)|limit|max(?:imum)?)\b|"
    r"\b(?:exceed(?:s|ed)?|overflow|max(?:imum)?) (?:\w+ )?(?:context|prompt|input|sequence) "
    r"(?:length|size|window|tokens?)\b|"
    r"\btoo many (?:\w+ )?tokens\b|\btokens? (?:limit|count) (?:exceeded|reached)\b"
)
_OTHER_CODE = re.compile(
    r"\b(?:output|completion|response|answer|rate|quota|minute|day|deadline|time|images?|files?)\b"
)
_RATE = re.compile(
    r"\bper[ _-]?(?:second|sec|minute|min|hour|day|month)|[a-z]Per(?:Minute|Day|Hour)|\brate[ _-]?limit|"
    r"\b[TR]P[MDHS]\b|\bquota\b|\bthrottl|\btoo many requests|\bplease wait|resource_exhausted|"
    r"\b(?:requests?|tokens?)/(?:min|minute|day|hour|s)\b|\bconcurren|速率|频率|限流|配额|额度",
    re.I,
)
_NO_PROMPT = re.compile(
    r"\b(?:images?|pictures?|pixels?|audio|videos?|files?|pdfs?|pages?|documents?|attachments?|tools?|functions?|stop|"
    r"schemas?|enum|property|properties|bytes|[kmg]i?b|dimensions?|user|metadata|temperature|logprobs|top[ _][pk]|seed|"
    r"n|deadline|timeout|timed out|seconds)\b",
    re.I,
)
_TOO_SMALL = re.compile(r"\btoo (?:small|short|few)\b|\bminimum\b|\bat least\b|太短|过短", re.I)
_FIELD = re.compile(r"""['"`]([A-Za-z_]+)(?:[.\[][^'"`]*)?['"`]|\b([a-z_]+)(?:\.\w+|\[\d+\])+""")
_FIELD_TOO_LONG = re.compile(
    r"\b(?:string|array|list|value|text)\b.{0,30}\btoo (?:long|large)\b|\bshould have at most\b|"
    r"\babove max(?:imum)? length\b|\b(?:string|array|list) (?:length|size)\b.{0,20}\bexceed|\bexpected maxlength\b",
    re.I,
)
_PROMPT_FIELDS = frozenset({"messages", "input", "inputs", "prompt", "contents", "system", "instructions", "content"})
_NUMBER = r"(\d{1,12}(?:\.\d{1,6})?)\s?([km]\b)?"
_GIVEN_ANSWER = re.compile(rf"{_NUMBER}\s*{_ANSWER}\b", re.I)
_AT_MOST = re.compile(rf"(?:<=?|≤|at most|up to|less than|limit(?: is| of|:)?)\s*{_NUMBER}", re.I)
_ONE_REQUEST = re.compile(rf"\blimit:? {_NUMBER}\b.{{0,40}}\brequested:? {_NUMBER}", re.I | re.S)
_SIZE_THEN_LIMIT = re.compile(
    rf"{_NUMBER}(?: tokens?)?[^\d.;]{{0,40}}?"
    rf"(?:>|\bexceed\w*|\b(?:longer|larger|greater|more) than|\bover|\blimit|\bmax\w*)"
    rf"[^\d.;]{{0,40}}?{_NUMBER}",
    re.I,
)


def is_overflow(text: str, codes: Iterable[str], fields: Iterable[str], *, is_rate_limited: bool) -> bool:
    """Return whether the provider refused the prompt because it is too long.

    `text`: all its sentences. `fields`: the parameters that the error names. `is_rate_limited`: the status is 429, so
    only a single request that is larger than the limit counts.
    """
    text = _THOUSANDS.sub("", text)
    if is_rate_limited and any(_RATE.search(words) for words in (text, *codes)):
        return _is_one_request_too_large(text)
    named = [*fields, *(one or other for one, other in _FIELD.findall(text))]
    if any(_is_code(code, named) for code in codes):
        return True
    plain = _OUTPUT.sub(_ANSWER, _PROMPT_TOKENS.sub(r"\1 tokens", _PREFIX.sub("", text)))
    plain = re.sub(r"[`\"_]", " ", plain)
    return not _is_answer_too_long(plain) and any(_reports(sentence, named) for sentence in _sentences(plain))


def _is_code(code: str, named: Iterable[str]) -> bool:
    """Return whether a code such as `context_length_exceeded` or `InputTooLong` names the overflow."""
    words = re.sub(r"[_.\- ]+", " ", _CAMEL.sub(" ", code)).lower()
    if _FIELD_TOO_LONG.search(words):
        return _is_about_prompt(named)
    return _CODE.search(words) is not None and _OTHER_CODE.search(words) is None


def _reports(sentence: str, named: Iterable[str]) -> bool:
    if _RATE.search(sentence):
        return _is_one_request_too_large(sentence)
    if _TOO_SMALL.search(sentence):
        return False
    if _FIELD_TOO_LONG.search(sentence):
        return _is_about_prompt(named)
    if _MOST.search(sentence) or _CHINESE.search(sentence):
        return True
    has_tokens = _TOKENS.search(sentence) is not None
    if _NO_PROMPT.search(sentence) and not has_tokens:
        return False
    if _PART_TOO_LONG.search(sentence):
        return True
    if _PART.search(sentence) and _EXCEEDS.search(sentence):
        return has_tokens or _SIZE.search(sentence) is not None
    return (has_tokens or _SIZE.search(sentence) is not None) and _is_larger_than_limit(sentence)


def _is_about_prompt(named: Iterable[str]) -> bool:
    """Return whether the fields that an error names are parts of the prompt, or whether it names none."""
    found = {name.partition(".")[0].partition("[")[0] for name in named} - {"body"}
    return not found or bool(found & _PROMPT_FIELDS)


def _is_answer_too_long(text: str) -> bool:
    """Return whether the requested length of the answer alone is larger than the limit."""
    limit, given = _AT_MOST.search(text), _GIVEN_ANSWER.search(text)
    return limit is not None and given is not None and _value(*given.groups()) >= _value(*limit.groups())


def _is_one_request_too_large(text: str) -> bool:
    """Return whether one request asks for more than a rate allows, so that waiting does not help."""
    found = _ONE_REQUEST.search(text)
    return found is not None and _value(*found.group(3, 4)) > _value(*found.group(1, 2))


def _is_larger_than_limit(sentence: str) -> bool:
    found = _SIZE_THEN_LIMIT.search(sentence)
    return found is not None and _value(*found.group(1, 2)) > _value(*found.group(3, 4))


def _value(number: str, unit: str | None) -> float:
    return float(number) * {"k": 1e3, "m": 1e6}.get((unit or "").lower(), 1.0)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences, and each pair of neighbours: a limit and the size of the prompt are often apart."""
    found = [s for s in _SENTENCE_END.split(text) if s.strip()]
    yield from found
    for one, two in pairwise(found):
        yield f"{one} {two}"
