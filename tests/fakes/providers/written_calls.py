"""Reads an answer the way a stream delivers it, and writes calls the way each family's chat template does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from rundry.agent.models.written_calls.call_reader import CallReader
from rundry.agent.protocol import ReasoningPart, TextPart, ToolSpec

Call = tuple[str, dict[str, object]]


def spec(name: str, **types: object) -> ToolSpec:
    """A tool whose parameters have these types."""
    fields = {key: {"type": kind} for key, kind in types.items()}
    return ToolSpec(name=name, description="", parameters={"type": "object", "properties": fields})


TOOLS = [
    spec("read_file", path="string", limit="integer"),
    spec("write_file", path="string", content="string"),
    spec("run_command", command="string", background="boolean", env="object", seconds=["number", "null"]),
]


def read(text: str, size: int = 0, tools: list[ToolSpec] = TOOLS) -> tuple[str, str, list[Call]]:
    """Text, reasoning and calls of an answer that arrives in pieces of this size (0: in one)."""
    return read_pieces([text[i : i + size] for i in range(0, len(text), size)] if size else [text], tools)


def read_pieces(pieces: list[str], tools: list[ToolSpec] = TOOLS) -> tuple[str, str, list[Call]]:
    """Text, reasoning and calls of an answer that arrives in these pieces."""
    reader = CallReader(tools)
    parts = [part for piece in pieces for part in reader.feed(piece)]
    rest, calls = reader.flush()
    parts += rest
    said = "".join(p.text for p in parts if isinstance(p, TextPart))
    thought = "".join(p.text for p in parts if isinstance(p, ReasoningPart))
    return said, thought, [(c.tool, json.loads(c.arguments)) for c in calls]


@dataclass(frozen=True)
class ProcessTree:
    """How the models of one family write."""

    write: Callable[[list[Call]], str]
    close: str
    """What closes a call or a value; a text argument may hold it."""
    damage: tuple[str, str]
    """A replacement that makes a call invalid."""
    joint: str = "\n"
    """What stands between a text and a call."""
    think: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    only_one: bool = False
    after_text: bool = True


def _json(call: Call, key: str = "arguments") -> str:
    return json.dumps({"name": call[0], key: call[1]}, ensure_ascii=False)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _hermes(calls: list[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_json(c)}\n</tool_call>" for c in calls)


def _function(call: Call) -> str:
    values = "".join(f"<parameter={k}>\n{_plain(v)}\n</parameter>\n" for k, v in call[1].items())
    return f"<function={call[0]}>\n{values}</function>"


def _coder(calls: list[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_function(c)}\n</tool_call>" for c in calls)


def _glm(calls: list[Call], gap: str) -> str:
    def pairs(call: Call) -> str:
        return "".join(
            f"{gap}<arg_key>{k}</arg_key>{gap}<arg_value>{_plain(v)}</arg_value>" for k, v in call[1].items()
        )

    return gap.join(f"<tool_call>{c[0]}{pairs(c)}{gap}</tool_call>" for c in calls)


def _deepseek_v3(calls: list[Call]) -> str:
    each = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json.dumps(a)}\n```<｜tool▁call▁end｜>"
        for name, a in calls
    )
    return f"<｜tool▁calls▁begin｜>{each}<｜tool▁calls▁end｜>"


def _deepseek_v31(calls: list[Call]) -> str:
    each = "".join(f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(a)}<｜tool▁call▁end｜>" for name, a in calls)
    return f"<｜tool▁calls▁begin｜>{each}<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"


def _dsml(calls: list[Call], section: str) -> str:
    def parameter(key: str, value: object) -> str:
        is_text = str(isinstance(value, str)).lower()
        return f'<｜DSML｜parameter name="{key}" string="{is_text}">{_plain(value)}</｜DSML｜parameter>\n'

    each = "".join(
        f'<｜DSML｜invoke name="{name}">\n{"".join(parameter(k, v) for k, v in a.items())}</｜DSML｜invoke>\n'
        for name, a in calls
    )
    return f"<｜DSML｜{section}>\n{each}</｜DSML｜{section}>"


def _minimax_m2(calls: list[Call]) -> str:
    def values(call: Call) -> str:
        return "".join(f'<parameter name="{k}">{_plain(v)}</parameter>\n' for k, v in call[1].items())

    each = "".join(f'<invoke name="{c[0]}">\n{values(c)}</invoke>\n' for c in calls)
    return f"<minimax:tool_call>\n{each}</minimax:tool_call>"


def _kimi(calls: list[Call]) -> str:
    each = "".join(
        f"<|tool_call_begin|>functions.{name}:{i}<|tool_call_argument_begin|>{json.dumps(a)}<|tool_call_end|>"
        for i, (name, a) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{each}<|tool_calls_section_end|>"


def _harmony(calls: list[Call]) -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{json.dumps(a)}<|call|>"
        for name, a in calls
    )


def _gemma(calls: list[Call], open_: str, close: str, quote: str) -> str:
    def value(it: object) -> str:
        if isinstance(it, str):
            return f"{quote}{it}{quote}"
        if isinstance(it, dict):
            return "{" + ",".join(f"{k}:{value(v)}" for k, v in it.items()) + "}"
        return json.dumps(it)

    return "".join(f"{open_}call:{name}{value(a)}{close}" for name, a in calls)


def _python(calls: list[Call]) -> str:
    lines = [f"{name}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for name, a in calls]
    return "```tool_code\n" + "\n".join(lines) + "\n```"


def _array(calls: list[Call]) -> str:
    return "[" + ", ".join(_json(c) for c in calls) + "]"


_BAD_JSON = ('"path":', '"path"')

FAMILIES = {
    "hermes": ProcessTree(_hermes, "</tool_call>", _BAD_JSON),
    "qwen3-coder": ProcessTree(_coder, "</parameter>", ("<parameter=path>", "<parameter path>")),
    "qwen3-coder, no outer tag": ProcessTree(
        lambda calls: "\n".join(map(_function, calls)), "</function>", ("</function>", "</funct>")
    ),
    "glm 4.5": ProcessTree(lambda calls: _glm(calls, "\n"), "</arg_value>", ("<arg_value>", "<arg>")),
    "glm 4.7": ProcessTree(lambda calls: _glm(calls, ""), "</tool_call>", ("</arg_key>", "<arg_key>"), joint=""),
    "llama, python tag": ProcessTree(
        lambda calls: "<|python_tag|>" + "; ".join(_json(c, "parameters") for c in calls) + "<|eom_id|>",
        "<|eom_id|>",
        _BAD_JSON,
        joint="",
    ),
    "llama, bare": ProcessTree(
        lambda calls: "\n".join(_json(c, "parameters") for c in calls), "}", _BAD_JSON, after_text=False
    ),
    "llama, function tag": ProcessTree(
        lambda calls: "\n".join(f"<function={name}>{json.dumps(a)}</function>" for name, a in calls),
        "</function>",
        _BAD_JSON,
    ),
    "mistral, array": ProcessTree(
        lambda calls: "[TOOL_CALLS] " + _array(calls) + "</s>", "]", _BAD_JSON, "", ("[THINK]", "[/THINK]")
    ),
    "mistral, named": ProcessTree(
        lambda calls: "".join(f"[TOOL_CALLS]{name}[ARGS]{json.dumps(a)}" for name, a in calls),
        "[TOOL_CALLS]",
        _BAD_JSON,
        "",
        ("[THINK]", "[/THINK]"),
    ),
    "mistral, call ids": ProcessTree(
        lambda calls: "".join(f"[TOOL_CALLS]{name}[CALL_ID]abc123XYZ[ARGS]{json.dumps(a)}" for name, a in calls),
        "[ARGS]",
        _BAD_JSON,
        "",
    ),
    "deepseek v3": ProcessTree(_deepseek_v3, "<｜tool▁call▁end｜>\n```", _BAD_JSON, ""),
    "deepseek v3.1": ProcessTree(_deepseek_v31, "<｜tool▁calls▁end｜>", _BAD_JSON, "", ("<think>", "</think>")),
    "deepseek v3.2": ProcessTree(
        lambda calls: _dsml(calls, "function_calls"), "</｜DSML｜invoke>", ("</｜DSML｜invoke>", "</invoke>"), "\n\n"
    ),
    "deepseek v4": ProcessTree(
        lambda calls: _dsml(calls, "tool_calls"), "</｜DSML｜parameter>", ("</｜DSML｜invoke>", "</invoke>"), "\n\n"
    ),
    "gpt-oss": ProcessTree(
        _harmony,
        "<|call|>",
        _BAD_JSON,
        "<|start|>assistant",
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
    ),
    "kimi k2": ProcessTree(_kimi, "<|tool_call_end|>", _BAD_JSON, ""),
    "minimax m1": ProcessTree(
        lambda calls: "<tool_calls>\n" + "\n".join(map(_json, calls)) + "\n</tool_calls>", "</tool_calls>", _BAD_JSON
    ),
    "minimax m2": ProcessTree(_minimax_m2, "</invoke>", ("<invoke ", "<call ")),
    "phi-4": ProcessTree(lambda calls: f"<|tool_call|>{_array(calls)}<|/tool_call|>", "<|/tool_call|>", _BAD_JSON),
    "phi-4-mini": ProcessTree(lambda calls: f"functools{_array(calls)}", "]", _BAD_JSON),
    "granite 3.0": ProcessTree(lambda calls: f"<|tool_call|> {_array(calls)}", "<|tool_call|>", _BAD_JSON),
    "granite 3.1": ProcessTree(lambda calls: f"<tool_call>{_array(calls)}", "</tool_call>", _BAD_JSON),
    "functiongemma": ProcessTree(
        lambda calls: _gemma(calls, "<start_function_call>", "<end_function_call>", "<escape>"),
        "<end_function_call>",
        ("call:", "call "),
        "",
    ),
    "gemma 4": ProcessTree(
        lambda calls: _gemma(calls, "<|tool_call>", "<tool_call|>", '<|"|>'),
        "}<tool_call|>",
        ("call:", "call "),
        "",
        ("<|channel>thought\n", "\n<channel|>"),
    ),
    "gemma 3": ProcessTree(_python, "')", ("path=", "path=open"), "\n"),
    "fenced json": ProcessTree(lambda calls: f"```json\n{_json(calls[0])}\n```", "}", _BAD_JSON, only_one=True),
}
