"""A refused prompt is recognised by the structure of the words, not by a list of sentences (docs/requirements.md 8.3).

The wordings come from recorded answers, bug reports and the test lists of other programs; some are made up.
"""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from aiohttp import web

from rundry.agent.protocol import ModelFault

OVERFLOWS = [
    "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens.",
    "This endpoint's maximum context length is 200000 tokens. However, you requested about 2500021 tokens (2500021 of text input).",
    "The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Please reduce the length of the messages or completion.",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
    "Current length is 9000 while limit is 8192",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 131073. Given: 140000 `inputs` tokens and 2000 `max_new_tokens`",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 3974 `inputs` tokens and 1024 `max_new_tokens`",
    "`inputs` must have less than 1024 tokens. Given: 1500",
    "Input validation error: `inputs` must have less than 4096 tokens. Given: 5023",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Requested token count exceeds the model's maximum context length of 131072 tokens",
    "Input length (265330) exceeds model's maximum context length (262144).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "The input (300 tokens) is longer than the model's context length (200 tokens).",
    "the request exceeds the available context size, try increasing it",
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt token count of 5000 exceeds the limit of 4096",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 128000",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
    "Prompt has 5000 tokens, but the configured context size is 4096 tokens",
    "Range of input length should be [1, 30000]",
    "InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
    "prompt too long; exceeded max context length by 12 tokens",
    "too many tokens in the request",
    "too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs. The limit for this model is 288000 tokens.",
    "token limit exceeded for this model",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "Exceed context limit",
    "the model's maximum context limit",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that `max_model_len` is no smaller than the number of text tokens.",
    "The prompt (total length 50000) is too long to fit into the model (context length 32768). Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
    "Input too long: 5000 input tokens",
    "Requested 9000 tokens, max 8192 tokens per request",
    "model max length exceeded",
    "Model max length exceeded: 5000 > 4096",
    "the number of input tokens 3421 cannot exceed the total tokens limit 2048 for this model",
    "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
    "Input is too long for requested model.",
    "input length and `max_tokens` exceed context limit: 198157 + 21333 > 200000, decrease input length or `max_tokens` and try again",
    "prompt tokens (5000) exceed model maximum (4096)",
    "Model context window is 128k tokens, you requested 256k tokens",
    "Context window exceeded: requested 12000 tokens",
    "Prompt too large for this model",
    "Request too large for model `llama-3.1-8b-instant` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
    "Prompt 超长",
    "输入长度超过模型上限",
    "The total length of all messages is too long.",
    "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 2104 input tokens (2000 > 4096 - 2104).",
    "This model's maximum context length is 8192 tokens. However, you requested 8256 tokens (64 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
    "Invalid 'messages[5].content': string too long. Expected a string with maximum length 10485760, but got a string with length 20000000 instead.",
    "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 3000 instead.",
    "string too long. Expected a string with maximum length 1048576, but got a string with length 2000000 instead.",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
    "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input",
    "Context size has been exceeded.",
    "input is too large to process. increase the physical batch size",
    "Requested tokens (9000) exceed context window of 4096",
    "Input sequence length 9000 exceeds maximum of 8192",
    "The input is too long. Max length is 4096, got 5000.",
    "Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count and try again.",
    "A maximum of 32768 input tokens is supported",
    "prompt length 5000 over limit 4096",
    "Your prompt of 9,000 tokens is over the 8,192 token limit",
    "Input length 9000 exceeds maximum allowed input length of 8192 tokens.",
    "messages too long: 131072 tokens at most",
    "The conversation is too long for this model",
    "max input tokens is 4096, but got 5000",
    "Number of tokens in prompt must be less than 4096",
    "The context length exceeds the limit",
    "Too many input tokens. Max input tokens: 8000, request input token count: 9000",
    "Input prompt length (5000) exceeds the limit of 4096 tokens",
    "request input tokens 6000 must be at most 4096",
    "ValidationException: Malformed input request: expected maxLength: 200000, actual: 300000, please reformat your input and try again.",
    "tokens in the prompt: 5000, limit: 4096",
    "Total tokens of image and text exceed max message tokens",
    "This model supports at most 4096 input tokens, but 5000 were given",
    "the requested number of tokens (9000) is larger than the model's window (8192)",
    "The sequence length (9000) must be at most 8192",
    "total number of tokens 9001 exceeds 8192",
    "input_ids length 9000 is longer than max_seq_len 8192",
    "cannot truncate prompt with n_keep (13575) >= n_ctx (4096)",
    "error: n_keep 13575 >= n_ctx 4096",
    "Exceeded maximum context length",
    "Request exceeds maximum context window",
    "Token limit exceeded for this model",
    "INPUT IS TOO LONG",
    "request (21953 tokens) exceeds the available context size (16384 tokens), try increasing it",
    "ValidationException: The input is too long for the model",
    "ollama error: context length exceeded",
    "Unhandled stop reason: model_context_window_exceeded",
    "上下文过长",
    "错误：上下文过长，请减少输入",
    "上下文超出限制",
    "上下文长度超出模型最大限制",
    "超出最大上下文长度",
    "The input (263000 tokens) is longer than the model's context length (262144 tokens).",
    "Request too large for gpt-5.6-luna",
    "Prompt超长",
    "输入长度超限，请减少输入内容",
    "上下文长度超过模型限制",
    "Request exceeds the maximum size allowed by this model",
    "400 Prompt has 256468 tokens, but the configured context size is 256000 tokens",
    "Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens",
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "This model's maximum context length is 128,000 tokens. However, your messages resulted in 131,072 tokens.",
    "input tokens 100 > 90 limit",
    "max_prompt_tokens exceeded: 100 > 90",
    "prompt_tokens 9000 exceeds context_window 8192",
    "maximum input length is 8 tokens",
]

OTHERS = [
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
    "Request exceeded the allowed number of images",
    "Input validation error: `max_new_tokens` must be <= 4096",
    "Input validation error: `max_new_tokens` must be <= 4096. Given: 5000",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 30 `inputs` tokens and 999999999 `max_new_tokens`",
    "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.",
    "max_tokens exceeds the limit of 8192",
    "Range of max_tokens should be [1, 8192]",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet",
    "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead.",
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    "max_tokens must be at least 1, got 0",
    "Model context window too small (minimum is 128k tokens)",
    "Context window too small: minimum is 1000 tokens",
    "request reached organization TPD rate limit, current: 1506556, limit: 1500000",
    "rate limit exceeded",
    "too many requests",
    "429 Too Many Requests",
    "exceeded your current quota",
    "This request would exceed your account's rate limit",
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
    "429 Too Many Requests: request exceeds rate limit",
    "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 6s.",
    "Too many tokens, please wait before trying again.",
    "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 100 instead.",
    "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 77 instead.",
    "Invalid 'metadata.session': string too long. Expected a string with maximum length 512, but got a string with length 700 instead.",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    "Too many images in request: 21 > 20",
    "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.",
    "Unable to submit request because it has a temperature value of 1000 but the supported range is from 0 (inclusive) to 2.0001 (exclusive).",
    "Invalid value: temperature must be less than 2",
    "logprobs must be <= 20",
    "n must be less than 128",
    "Cached content is too small. total_token_count=100, min_total_token_count=1024",
    "Expected max_output_tokens to be at most 8192",
    "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
    "validation failed",
    "unsupported parameter: 'tools'",
    "The model `fake` does not exist",
    "fake is not a valid model ID",
    "Your credit balance is too low to access the API",
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    "Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.",
    "messages: at least one message is required",
    "No tool output found for tool call call-a.",
    "Tool names must be at most 64 characters",
    "tools.0.custom.name: String should have at most 128 characters",
    "Function name is too long: maximum is 64 characters",
    "Requests are limited to 5 concurrent requests; too many",
    "The request timed out after more than 60 seconds",
    "The model produced more than 5 invalid tool calls",
    "messages.1: tool_use ids were found without tool_result blocks immediately after",
    "Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash. Please retry in 12.5s.",
    "You exceeded your current token quota: 1000000 tokens per month",
    "Your account has used more than the limit of 100000 tokens; upgrade your plan",
    "request id must be less than 64 characters",
    "user message content must be a string",
    "The messages must be in the range of roles user, assistant",
    "Model overloaded: too many requests in queue",
    "response_format: schema too large",
    "thinking budget must be between 1024 and 32000 tokens",
    "top_k must be less than 500",
    "message content is empty",
    "Input should be a valid string",
    "Param Incorrect: max_tokens is too large: 1048576. This model supports at most 131072 completion tokens, whereas you provided 1048576.",
    "This model's maximum output length is 8192 tokens, but 9000 were requested",
    "The response exceeded the maximum of 4096 output tokens",
    "model requires more system memory (5.6 GiB) than is available (2.0 GiB)",
    "rate limit exceeded, too many requests",
    "connection timeout",
    "Network timeout",
    "Invalid API key",
    "llm call timeout",
    "upstream provider is down",
    "Invalid value for 'max_tokens': must be a positive integer.",
    "'max_tokens' must be at most 8192 for this model.",
    "Invalid value for 'temperature': must be <= 2.",
    "输出长度超限，请降低 max_tokens",
    "connection reset by peer",
    "max_tokens: expected a value <= 32768, but got 65536 instead",
    "rate limit exceeded, please retry later",
    "429 Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
    "400 max_tokens: must be less than or equal to 8192, the maximum for this model",
    "400 max_tokens: 100000 > 64000, which exceeds the maximum allowed number of output tokens for this model",
    "413 Forbidden",
    "500 model runner crashed unexpectedly",
    "Throttling error: Too many tokens, please wait before trying again.",
    "Service unavailable: The service is temporarily unavailable.",
    "Rate limit exceeded, please retry after 30 seconds.",
    "concurrency limit has been reached",
    "workers_ai gateway error: quota limit exceeded",
    "model is not ready",
    "Input too short: 12 tokens exceed the minimum of 10 tokens",
    "prompt of 3 tokens is too short: it must be longer than 10 tokens",
    "The context is too small: minimum context length is 4096 tokens",
    "context canceled",
    "context deadline exceeded",
    "Invalid context: messages must alternate",
    "Input required",
]

CODES = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "TOO_MANY_TOKENS",
    "too_many_prompt_tokens",
    "model_max_prompt_tokens_exceeded",
    "string_above_max_length",
    "ContextWindowExceededError",
    "model_context_window_exceeded",
    "prompt_too_long",
    "input_too_long",
    "InvalidParameter.InputLengthExceeded",
    "token_limit_exceeded",
    "tokens_limit_reached",
]
OTHER_CODES = [
    "invalid_request_error",
    "max_output_tokens_exceeded",
    "max_tokens_exceeded",
    "INVALID_ARGUMENT",
    "context_deadline_exceeded",
    "tokens",
]


@pytest.fixture
def fault_for(opened, serve):
    async def ask(error: object, status: int = 400) -> ModelFault:
        async def answer(request: web.Request) -> web.Response:
            return web.json_response(error, status=status)

        asked = await opened(await serve({"POST /{path:.*}": answer}), "openai/fake", context=8000)
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
        return caught.value

    return ask


@pytest.mark.parametrize("words", OVERFLOWS)
async def test_each_wording_of_an_overflow_is_recognised(fault_for, words):
    assert (await fault_for({"error": {"message": words, "type": "invalid_request_error"}})).kind == "context"


@pytest.mark.parametrize("words", OTHERS)
async def test_other_errors_about_limits_are_not_overflows(fault_for, words):
    assert (await fault_for({"error": {"message": words, "type": "invalid_request_error"}})).kind != "context"


@pytest.mark.parametrize("code", CODES)
async def test_a_code_alone_names_an_overflow(fault_for, code):
    assert (await fault_for({"error": {"message": "Bad request.", "code": code}})).kind == "context"


@pytest.mark.parametrize("code", OTHER_CODES)
async def test_other_error_codes_are_not_an_overflow(fault_for, code):
    assert (await fault_for({"error": {"message": "Bad request.", "code": code}})).kind == "bad-request"


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


INPUT_TOKENS = "the number of input tokens 9 cannot exceed the total tokens limit 4 for this model"
WITH_ANSWER = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4. Given: 9 `inputs` tokens"
AT_MOST = "String should have at most 100 characters"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error("too long", code="string_above_max_length", param="messages[3].content"), "context"),
        (error("too long", code="string_above_max_length", param="user"), "bad-request"),
        ({"detail": [{"loc": ["body", "messages", 0, "content"], "msg": AT_MOST}]}, "context"),
        ({"detail": [{"loc": ["body", "user"], "msg": AT_MOST}]}, "bad-request"),
        ({"error_type": "TOO_MANY_TOKENS", "message": "too many tokens"}, "context"),
        ({"object": "error", "message": "The decoder prompt is longer than the maximum model length of 4"}, "context"),
        ({"errors": [{"code": "invalid_input", "message": INPUT_TOKENS}]}, "context"),
        ({"message": "Input is too long for requested model."}, "context"),
        ("Input validation error: `inputs` must have less than 4 tokens. Given: 9", "context"),
        ({"error": WITH_ANSWER, "error_type": "validation"}, "context"),
    ],
)
async def test_each_shape_of_a_body_is_read_and_the_field_that_it_names_decides(fault_for, body, kind):
    assert (await fault_for(body, 422 if "detail" in body else 400)).kind == kind


REQUEST = "Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 50000."
RATE = (
    "Rate limit reached for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."
)


@pytest.mark.parametrize(("words", "kind"), [(REQUEST, "context"), (RATE, "rate-limit")])
async def test_only_a_request_above_the_limit_of_a_rate_is_an_overflow(fault_for, words, kind):
    assert (await fault_for(error(words, type="tokens", code="rate_limit_exceeded"), 429)).kind == kind


@pytest.mark.parametrize(("status", "kind"), [(503, "server"), (502, "server"), (401, "auth"), (404, "unknown-model")])
async def test_the_words_do_not_overrule_another_status(fault_for, status, kind):
    assert (await fault_for(error("the context length exceeds the limit"), status)).kind == kind


async def test_a_very_long_text_is_judged_quickly(fault_for):
    assert (await fault_for(error("a_" * 40_000 + "9" * 40_000 + " tokens " * 10_000))).kind == "bad-request"
