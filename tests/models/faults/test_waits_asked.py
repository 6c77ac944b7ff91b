"""How long a provider asks to wait is found wherever it stands, and a quota is not taken for a rate (8.3)."""

from __future__ import annotations

import datetime
import email.utils
import json
import time

import pytest
from aiohttp import web

from rundry.agent.protocol import ModelFault

GEMINI = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota, please check your plan and billing details. For more information "
        "on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, "
        "head to: https://ai.dev/usage?tab=rate-limit. \n* Quota exceeded for metric: "
        "generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10, model: gemini-2.5-flash\n"
        "* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, "
        "limit: 250000, model: gemini-2.5-flash\n"
        "Please retry in 48.901234567s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"description": "Learn more", "url": "x"}]},
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                        "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                        "quotaValue": "10",
                    }
                ],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"},
        ],
    }
}
TEXT = json.dumps(GEMINI)
OF_A_DAY = json.loads(TEXT.replace("PerMinute", "PerDay"))
NOT_IN_THE_PLAN = json.loads(TEXT.replace("limit: 10,", "limit: 0,").replace("PerMinute", "PerDay"))
WITHOUT_DETAILS = {"error": {**GEMINI["error"], "details": []}}


@pytest.fixture
def fault_for(opened, serve):
    async def ask(body: object, status: int = 429, headers: dict[str, str] | None = None) -> ModelFault:
        async def answer(request: web.Request) -> web.Response:
            return web.json_response(body, status=status, headers=headers)

        asked = await opened(await serve({"POST /{path:.*}": answer}), "openai/fake", context=8000)
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
        return caught.value

    return ask


@pytest.mark.parametrize(("body", "wait"), [(GEMINI, 48), ([GEMINI], 48), (WITHOUT_DETAILS, 48.901234567)])
async def test_a_quota_of_a_minute_is_a_rate_limit_with_its_wait(fault_for, body, wait):
    fault = await fault_for(body)
    assert (fault.kind, fault.retryable, fault.retry_after) == ("rate-limit", True, wait)


@pytest.mark.parametrize("body", [OF_A_DAY, NOT_IN_THE_PLAN])
async def test_a_quota_that_does_not_come_back_soon_stays_a_quota(fault_for, body):
    assert (await fault_for(body)).kind == "quota"


async def test_a_wait_far_behind_the_start_of_the_text_counts(fault_for):
    fault = await fault_for({"error": {"message": "Slow down. " * 200 + "Please try again in 1m2.3s."}})
    assert (fault.kind, fault.retry_after) == ("rate-limit", 62.3)
    assert len(fault.text) < 700


@pytest.mark.parametrize(
    ("words", "wait"),
    [
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3s.", 3723),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 2.5 seconds", 2.5),
        ("Rate limit reached. Limit 10, Used 10. Please try again in 7m12s. Visit us.", 432),
        ("Please wait 30 seconds before retrying.", 30),
        ("You must wait for 5 minutes", 300),
        ("Retry after 2 hours.", 7200),
        ("Please retry after 17 seconds. To increase your limit, write to us.", 17),
        ("retry after: 10", 10),
        ("The limit resets in 3 minutes and 5 seconds", 185),
        ("available again in about 1 day", 86_400),
        ("Too many requests", None),
        ("Please try again in a few moments", None),
        ("Your 30 s are over", None),
    ],
)
async def test_a_wait_in_words_is_read(fault_for, words, wait):
    fault = await fault_for({"error": {"message": words, "type": "rate_limit_error"}})
    assert fault.kind == "rate-limit"
    assert fault.retry_after == (wait if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("fields", "wait"),
    [
        ({"retry_after": 12}, 12),
        ({"retry_after": "12"}, 12),
        ({"retryAfter": 1.5}, 1.5),
        ({"retry_after_ms": 2500}, 2.5),
        ({"retry_after_seconds": 40}, 40),
        ({"details": [{"retryDelay": "3.5s"}]}, 3.5),
        ({"details": [{"retryDelay": {"seconds": 9, "nanos": 500_000_000}}]}, 9.5),
        ({"details": [{"retryDelay": "120s"}]}, 120),
        ({"metadata": {"headers": {"Retry-After": "8"}}}, 8),
        ({"retry_after": True}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": -4}, 0),
    ],
)
async def test_a_wait_in_a_field_of_the_body_is_read(fault_for, fields, wait):
    fault = await fault_for({"error": {"message": "slow down", **fields}})
    assert (fault.kind, fault.retry_after) == ("rate-limit", wait)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "31"}, 31),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "2500"}, 2.5),
        ({"x-ms-retry-after-ms": "1500", "Retry-After": "1"}, 1.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        (
            {
                "x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1h0m0s",
                "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s",
            },
            7.66,
        ),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "55"}, 55),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "12"}, 12),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "55"}, None),
        ({"Retry-After": "2", "x-ratelimit-reset": "55"}, 2),
        ({"Retry-After": "soon"}, None),
        ({"x-ratelimit-limit": "55"}, None),
    ],
)  # fmt: skip
async def test_a_wait_in_a_header_is_read(fault_for, headers, wait):
    fault = await fault_for({"error": {"message": "slow down"}}, headers=headers)
    assert fault.kind == "rate-limit"
    assert fault.retry_after == (wait if wait is None else pytest.approx(wait))


def dates(ahead: float) -> list[dict[str, str]]:
    at = time.time() + ahead
    iso = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")
    return [
        {"Retry-After": email.utils.formatdate(at, usegmt=True)},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{at:.0f}"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{at * 1000:.0f}"},
        {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": iso.replace("+00:00", "Z")},
    ]


@pytest.mark.parametrize("which", range(4))
async def test_a_date_in_a_header_is_turned_into_seconds(fault_for, which):
    fault = await fault_for({"error": {"message": "slow"}}, headers=dates(40)[which])
    assert fault.retry_after is not None and 20 < fault.retry_after <= 41
    past = await fault_for({"error": {"message": "slow"}}, headers=dates(-40)[which])
    assert past.retry_after == 0


async def test_openrouters_headers_in_its_body_count(fault_for):
    reset = f"{time.time() + 40:.0f}000"
    headers = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    fault = await fault_for({"error": {"message": "per minute", "code": 429, "metadata": {"headers": headers}}})
    assert fault.kind == "rate-limit" and 20 < (fault.retry_after or 0) <= 41


@pytest.mark.parametrize(
    ("wait", "shown"), [("29.1901", "30 s"), ("48.9", "49 s"), ("119", "119 s"), ("432", "7 min 12 s"), ("7200", "2 h")]
)
async def test_a_wait_is_shown_in_whole_seconds(fault_for, wait, shown):
    fault = await fault_for({"error": {"message": "slow down"}}, headers={"Retry-After": wait})
    assert f"asks to wait {shown}: slow down" in fault.text


async def test_a_reset_of_a_limit_is_not_a_wait_for_a_broken_server(fault_for):
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}
    assert (await fault_for({"error": {"message": "oops"}}, 500, headers)).retry_after is None
