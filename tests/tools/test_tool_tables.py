"""The table of the tools, and what the rest of the program knows about them."""

from __future__ import annotations

from rundry.agent.protocol.tools.traits import TOOL_TRAITS, tools_with
from rundry.agent.tools.tool_table import TOOLS


def test_each_tool_has_its_traits_and_each_traits_row_its_tool():
    assert set(TOOLS) == set(TOOL_TRAITS)


def test_tools_that_read_have_a_function_and_those_that_pass_the_gate_a_plan():
    assert {name for name, tool in TOOLS.items() if tool.read is not None} == {*tools_with("read"), "fetch_url"}
    assert {name for name, tool in TOOLS.items() if tool.plan is not None} == set(
        tools_with("web", "change", "command", "agree")
    )


def test_the_arguments_that_traits_name_are_arguments_of_the_tool():
    for name, traits in TOOL_TRAITS.items():
        fields = TOOLS[name].arguments.__struct_fields__
        assert not traits.subject or traits.subject in fields, name
        assert traits.effect != "read" or traits.path is None or traits.path in fields, name
