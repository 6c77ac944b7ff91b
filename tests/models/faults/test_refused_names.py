"""Which of the sent parameters an error is about, in the words of real servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rundry.agent.models.faults.direct_faults import HttpRefusal, fault_of_response
from rundry.agent.models.faults.refused_names import largest_accepted, refused_names
from rundry.agent.models.faults.reported import read_error
from rundry.agent.models.request_fields import REFUSALS

CHAT = {
    "max_tokens": ["max_tokens"],
    "stream_options": ["stream_options", "include_usage"],
    "response_format": ["response_format", "json_schema"],
    "temperature": ["temperature"],
    "tool_choice": ["tool_choice"],
    "parallel_tool_calls": ["parallel_tool_calls"],
    "reasoning_effort": ["reasoning_effort", "xhigh"],
}


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def named(body: object, sent: dict[str, list[str]]) -> list[str]:
    reported = read_error(json.dumps(body).encode())
    return refused_names(reported.all, reported.fields, sent)


REFUSED = [
    # OpenAI, Azure
    (
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        ["max_tokens"],
    ),
    (
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                "code": "invalid_request_body",
            }
        },
        ["max_tokens"],
    ),
    (
        openai(
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is "
            "supported.",
            "temperature",
            "unsupported_value",
        ),
        ["temperature"],
    ),
    (openai("Unknown parameter: 'stream_options'.", "stream_options", "unknown_parameter"), ["stream_options"]),
    (openai("Unrecognized request argument supplied: reasoning_effort"), ["reasoning_effort"]),
    (
        openai(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more "
            "about supported models at the Structured Outputs guide",
        ),
        ["response_format"],
    ),
    (
        openai(
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
            "specified.",
            "parallel_tool_calls",
        ),
        ["parallel_tool_calls"],
    ),
    (
        {"error": {"code": 400, "message": "Validation error at #/stream_options: Extra inputs are not permitted"}},
        ["stream_options"],
    ),
    (
        {
            "detail": "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to "
            "be 'error'. Set extra-parameters to 'pass-through' to pass to the model."
        },
        ["stream_options"],
    ),
    (
        {"detail": "Extra parameters ['stream_options', 'parallel_tool_calls'] are not allowed"},
        ["stream_options", "parallel_tool_calls"],
    ),
    # Fireworks
    ({"error": {"message": "Extra inputs are not permitted, field: 'stream_options'"}}, ["stream_options"]),
    # FastAPI: Mistral, vLLM
    (
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "stream_options"],
                    "msg": "Extra inputs are not permitted",
                    "input": {"include_usage": True},
                },
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "parallel_tool_calls"],
                    "msg": "Extra inputs are not permitted",
                    "input": True,
                },
            ]
        },
        ["stream_options", "parallel_tool_calls"],
    ),
    (
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not "
            "permitted', 'input': {'include_usage': True}}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        ["stream_options"],
    ),
    # llama-cpp-python, in 422 and in 500
    (
        {
            "detail": [
                {
                    "type": "literal_error",
                    "loc": ["body", "response_format", "type"],
                    "msg": "Input should be 'text' or 'json_object'",
                    "input": "json_schema",
                }
            ]
        },
        ["response_format"],
    ),
    (
        {
            "error": {
                "message": "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input "
                "should be 'text' or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or "
                "'json_object'\"}}]",
                "type": "internal_server_error",
                "param": None,
                "code": None,
            }
        },
        ["response_format"],
    ),
    # DeepSeek
    (openai("This response_format type is unavailable now", None, "invalid_request_error"), ["response_format"]),
    (
        openai(
            "Failed to deserialize the JSON body into the target type: response_format: response_format.type "
            "`json_schema` is unavailable now at line 1 column 1193"
        ),
        ["response_format"],
    ),
    # LM Studio
    ({"error": "'response_format.type' must be 'json_object' or 'text'"}, ["response_format"]),
    # Groq
    (openai("This model does not support response format `json_schema`."), ["response_format"]),
    (openai("`reasoning_effort` is not supported with this model"), ["reasoning_effort"]),
    (openai("reasoning_effort must be one of `none` or `default`", "reasoning_effort"), ["reasoning_effort"]),
    # OpenRouter
    (
        {"error": {"message": "No endpoints found that support the provided 'tool_choice' value.", "code": 404}},
        ["tool_choice"],
    ),
    # vLLM
    (
        openai('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ["tool_choice"],
    ),
    # Google
    (
        {
            "error": {
                "code": 400,
                "message": "Unable to submit request because it has a temperature value of 1000 but the supported "
                "range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.",
                "status": "INVALID_ARGUMENT",
            }
        },
        ["temperature"],
    ),
    # Anthropic behind a gateway
    (openai("`temperature` is deprecated for this model."), ["temperature"]),
    (openai("temperature: Extra inputs are not permitted"), ["temperature"]),
    (openai("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."), ["temperature"]),
    (openai("This model does not support effort level 'xhigh'. Supported levels: high, low."), ["reasoning_effort"]),
    # a gateway in Go, and one in Rust
    ({"error": 'json: unknown field "parallel_tool_calls"'}, ["parallel_tool_calls"]),
    ({"message": "unknown field `stream_options`, expected one of `messages`, `model`"}, ["stream_options"]),
]

NOT_REFUSED = [
    # errors about other parts of the request, which happen to hold a name
    openai("Invalid schema for function 'read_file': 'temperature' is not valid", "tools[0].function.parameters"),
    openai("Unsupported value: 'messages[0].role' does not support 'developer'.", "messages[0].role"),
    openai("The requested model 'fake' does not exist.", "model", "model_not_found"),
    openai("Item 'rs_1' of type 'reasoning' was provided without its required following item.", "input"),
    openai("No tool output found for tool call call-a.", None, "invalid_request_error"),
    openai("Unknown parameter: 'max_tokens_to_sample'."),
    openai("Unknown parameter: 'my_stream_options_2'."),
    openai("Web search options not supported with this model.", "web_search_options"),
    {"error": {"message": "Tool call validation failed: missing properties: 'name'", "code": "tool_use_failed"}},
    {"message": "This model doesn't support the s3Uri field. Remove s3Uri and try again."},
    {"error": {"message": "messages.3: `tool_use` ids were found without `tool_result` blocks"}},
]


@pytest.mark.parametrize(("body", "names"), REFUSED)
def test_an_error_names_the_parameters_that_it_is_about(body, names):
    assert named(body, CHAT) == names


@pytest.mark.parametrize("body", NOT_REFUSED)
def test_an_error_about_something_else_names_no_parameter(body):
    assert named(body, CHAT) == []


@pytest.mark.parametrize("body", [body for body, _ in REFUSED])
def test_the_refusal_of_a_parameter_is_of_a_kind_that_leads_to_another_attempt(body, some_endpoint):
    answer = HttpRefusal(500 if "internal_server_error" in str(body) else 400, {}, json.dumps(body).encode())
    assert fault_of_response(answer, some_endpoint).kind in REFUSALS


@pytest.fixture
def some_endpoint():
    from rundry.agent.models.endpoint import NO_KEY, Endpoint

    return Endpoint(provider="openai", model="m", api_base="http://x/v1", key=NO_KEY, key_names=(), local=True)


TEXT = {"text.format": ["text.format", "text", "format", "json_schema"], "include": ["include"], "store": ["store"]}


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Unknown parameter: 'text.format'.", ["text.format"]),
        ("Unsupported parameter: 'store'", ["store"]),
        ("'include' is not allowed", ["include"]),
        ("messages: text content blocks must be non-empty", []),
        ("the text of a message must not be empty", []),
        ("the server could not store the file; include a name", []),
    ],
)
def test_an_ordinary_word_counts_only_where_it_stands_as_a_name(message, names):
    assert named(openai(message), TEXT) == names


@pytest.mark.parametrize(
    "message",
    [
        "Invalid value for maxOutputTokens",
        "Unknown name \"maxOutputTokens\" at 'generation_config'",
        "max output tokens",
    ],
)
def test_a_name_is_known_in_snake_case_camel_case_and_in_words(message):
    assert named(openai(message), {"max_tokens": ["max_tokens", "maxOutputTokens"]}) == ["max_tokens"]


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("max_tokens is too large: 32768. This model supports at most 4096 completion tokens, whereas you provided "
         "32768.", 4096),
        ("max_tokens: 32768 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet", 8192),
        ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`", 8192),
        ("Range of max_tokens should be [1, 8192]", 8192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("The maximum tokens you requested exceeds the model limit of 10000. Try again with a maximum tokens value "
         "that is lower than 10000.", 10000),
        ("it has a maxOutputTokens value of 32768 but the supported range is from 1 (inclusive) to 8193 (exclusive)",
         8192),
        ("Expected max_output_tokens to be at most 16,384", 16384),
        ("Unsupported parameter: 'max_tokens' (request id: 20240806214436917505976)", None),
        ("Error code: 400 - 'max_tokens' is not supported", None),
        ("max_tokens must be at most 65536", None),
    ],
)  # fmt: skip
def test_the_largest_output_that_a_server_accepts_is_read_from_its_words(message, most):
    assert largest_accepted(message, 32_768) == most
