"""Count tests in JUnit XML, which most runners can write."""

from __future__ import annotations

import re
from html import unescape

from .counted import Counted

_TAGS = re.compile(
    r"<testcase\b(?P<attributes>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*?)(?P<closed>/)?>"
    r"|<(?P<bad>failure|error)\b|<(?P<skipped>skipped)\b|</(?P<end>testcase)>"
)
_NAME = re.compile(r"\b(?P<key>name|classname)=(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')")


def junit(text: str) -> Counted | None:
    """Count the test cases. A case with a failure or an error fails; a skipped one did not run."""
    if "<testsuite" not in text:
        return None
    names: list[str] = []
    failed: list[str] = []
    failing = ran = 0
    name, is_bad, is_failed, is_skipped = "", False, False, False
    is_open = False
    for match in _TAGS.finditer(_without_cdata(text)):
        if match["bad"]:
            is_bad = True
            is_failed |= match["bad"] == "failure"
        elif match["skipped"]:
            is_skipped = True
        else:
            if not match["end"]:
                name, is_open = _name(match["attributes"]), True
                is_bad = is_failed = is_skipped = False
            if is_open and (match["end"] or match["closed"]):
                is_open = False
                failing += is_bad
                if is_failed:
                    failed.append(name)
                if not is_skipped:
                    ran += 1
                    names.append(name)
    return Counted(ran=ran, failing=failing, names=sorted({*names} - {""}), failed=sorted(failed))


def _without_cdata(text: str) -> str:
    first, *rest = text.split("<![CDATA[")
    return first + "".join(part.partition("]]>")[2] for part in rest)


def _name(attributes: str) -> str:
    found = {match["key"]: unescape(match["double"] or match["single"] or "") for match in _NAME.finditer(attributes)}
    return ".".join(filter(None, (found.get("classname"), found.get("name"))))
