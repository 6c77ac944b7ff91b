"""The policy of a run, with the person's changes in this session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from ..protocol import GateMode, GatePolicy, OnAsk, Rule, RundryError
from .draft import CommandDraft, Draft, EffectsDraft, McpDraft, PlanDraft, WebDraft
from .effects_policy import judge_effect, judge_effects
from .policy import PolicyContext, Verdict, judge
from .rules import RuleOffer, rule_text
from .web_policy import judge_web

if TYPE_CHECKING:
    from ..host.workspace_paths import Workspace
    from ..journal.other_sessions import OtherSessions
    from ..layers.effect_classes import Class
    from ..settings.remembered import RememberedRules
    from .guarded_paths import GuardedPaths
    from .ruling import Ruling


PASSES_ALREADY = "the check passes already, so it cannot show that the plan is carried out: set one that fails now"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedTree:
    """The workspace or worktree that a gate protects."""

    workspace: Workspace
    guard: GuardedPaths
    """The files in it that the user guards."""
    sandbox: str | None
    """Kind of the sandbox in which its commands run, or None if they are not confined."""
    layers: bool = False
    """Whether commands write into layers, so that what they change is decided on afterwards."""
    why_no_layers: str = ""
    """Why they do not."""
    who: str = ""
    """Name of the try that works in it, for the person. Empty means the run itself."""
    starts: bool = True
    """Whether commands start in a stage."""
    reviews_result: bool = False
    """The gate shows the whole change before it reaches the workspace, so that single edits in it do not wait."""
    shows_result: bool = False
    """Whether this is the gate that shows it."""
    scope: Sequence[str] = ()
    """The globs of `--scope`."""
    setup: str = ""
    """The command of `--setup`, or empty if there is none."""
    others: OtherSessions | None = None
    """The other sessions that write in it. None means that it belongs to this run alone."""


class SessionPolicy:
    """The gate's mode and its rules. All gates of a run share one."""

    def __init__(
        self,
        policy: GatePolicy,
        *,
        rules: list[Rule] | None = None,
        remembered: RememberedRules | None = None,
    ) -> None:
        """`rules`: the list that new rules are added to (None means a copy of the policy's).

        `remembered` stores a rule of `always`. If it cannot, the person sees why, and the rule applies in this session.
        """
        self.mode, self.unsandboxed_ok = policy.mode, policy.unsandboxed_ok
        self.on_ask: OnAsk | None = policy.on_ask
        self.rules = list(policy.rules) if rules is None else rules
        """Rules of the policy, and those that the person added with `always` in this session."""
        self._remembered = remembered

    def set_mode(self, mode: GateMode, *, unsandboxed_ok: bool) -> None:
        """Set the mode. `unsandboxed_ok` is never withdrawn."""
        self.mode = mode
        self.unsandboxed_ok = self.unsandboxed_ok or unsandboxed_ok

    def judge(self, draft: Draft, tree: GatedTree) -> Verdict:
        """Return the verdict for a draft in that tree."""
        if isinstance(draft, McpDraft):
            return _judge_mcp(draft, self.mode, self.rules)
        if isinstance(draft, PlanDraft):
            return _judge_plan(draft)
        if isinstance(draft, WebDraft):
            return judge_web(draft, self.rules)
        context = self._context(tree)
        return judge_effects(draft, context) if isinstance(draft, EffectsDraft) else judge(draft, context)

    def starts_alone(self, draft: CommandDraft, mode: GateMode, tree: GatedTree) -> bool:
        """Return whether a command that can change nothing would start in this mode without asking."""
        return judge(draft, msgspec.structs.replace(self._context(tree), mode=mode, layers=True)).action == "allow"

    def judge_effect(
        self, kind: Class, paths: Sequence[str], tree: GatedTree, *, is_hook: bool, command: str = ""
    ) -> Verdict:
        """Return the verdict on effects of a command that are decided together, before there is a proposal.

        `is_hook`: a hook of the user ran it, whose ordinary effects belong to what was approved.
        `command`: the line that the model ran.
        """
        context = self._context(tree)
        if is_hook and context.mode is GateMode.EFFECTS:
            context = msgspec.structs.replace(context, mode=GateMode.EDITS)
        return judge_effect(kind, paths, context, is_setup=bool(tree.setup) and command.strip() == tree.setup.strip())

    def _context(self, tree: GatedTree) -> PolicyContext:
        mode = self.mode
        if mode in (GateMode.ASK, GateMode.EFFECTS):
            mode = GateMode.EDITS if tree.reviews_result else GateMode.EFFECTS if tree.shows_result else mode
        return PolicyContext(
            workspace=tree.workspace,
            mode=mode,
            rules=self.rules,
            guard=tree.guard,
            sandbox=tree.sandbox,
            layers=tree.layers,
            why_no_layers=tree.why_no_layers,
            unsandboxed_ok=self.unsandboxed_ok,
            starts=tree.starts,
            scope=tree.scope,
        )

    def add(self, rule: Rule) -> None:
        """Add a rule. It applies from the next verdict on."""
        self.rules.append(rule)

    def remove(self, rule: Rule) -> None:
        """Remove a rule. It no longer applies from the next verdict on."""
        self.rules[:] = [each for each in self.rules if each != rule]

    def remember(self, rule: Rule, ruling: Ruling) -> Ruling:
        """Add the rule of `always`, and store it. If it cannot be stored, the returned ruling gives the reason."""
        if rule in self.rules:
            return ruling
        self.add(rule)
        if self._remembered is None:
            return ruling
        try:
            self._remembered.add(rule)
        except (RundryError, OSError) as error:
            why = f"the rule could not be saved and holds for this session only: {error}"
            return msgspec.structs.replace(ruling, reason=why)
        return ruling


def _judge_plan(draft: PlanDraft) -> Verdict:
    """Return the verdict on a plan: a person accepts it, in every mode and whatever the rules are."""
    if draft.decides:
        why = f"you set what decides when the task is done: {draft.decides}"
    elif draft.plan.check is None:
        why = "it has no check: a chat carries it out, and you decide when the task is done"
    else:
        why = PASSES_ALREADY if draft.passes else "its check decides when the task is done"
    already = [PASSES_ALREADY] if draft.passes and draft.decides else []
    return Verdict(action="ask", why=[*already, why])


def _judge_mcp(draft: McpDraft, mode: GateMode, rules: Sequence[Rule]) -> Verdict:
    """Return the verdict on a call of an MCP server's tool (docs/decisions/0028). What the server says never counts."""
    if draft.is_listing:
        return _judge_listing(draft, mode)
    spoken = [rule for rule in rules if _names_tool(rule, draft.tool)]
    denied = next((rule for rule in spoken if rule.verdict == "deny"), None)
    if denied is not None:
        return Verdict(action="deny", why=[f"a rule refuses it: {rule_text(denied)}"])
    if mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: no tool of an MCP server is called"])
    asked = next((rule for rule in spoken if rule.verdict == "ask"), None)
    if asked is not None:
        return Verdict(action="ask", why=[f"a rule asks: {rule_text(asked)}", *_claims(draft)])
    allowed = next((rule for rule in spoken if rule.verdict == "allow"), None)
    if allowed is not None:
        return Verdict(action="allow", why=[f"a rule allows it: {rule_text(allowed)}"])
    said = "".join(f"; {line}" for line in _claims(draft))
    offer = RuleOffer(rules=[Rule(verdict="allow", tool=draft.tool)])
    return Verdict(action="ask", why=[f"no rule allows {draft.tool}{said}"], offer=offer)


def _claims(draft: McpDraft) -> list[str]:
    return [f"the server says that it {' and '.join(draft.claims)}"] if draft.claims else []


def _names_tool(rule: Rule, tool: str) -> bool:
    """Return whether the rule is about this tool: it has its name, or that of its server as `SERVER__*`."""
    if rule.tool is None or rule.path is not None or rule.command is not None or rule.host is not None:
        return False
    return rule.tool == tool or (rule.tool.endswith("__*") and tool.startswith(rule.tool[:-1]))


def _judge_listing(draft: McpDraft, mode: GateMode) -> Verdict:
    """Return the verdict on other tools of a server: no rule and no mode accepts them."""
    if mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: no other tools are accepted"])
    return Verdict(
        action="ask",
        why=[f"the MCP server {draft.server} has other tools or instructions than those that you accepted"],
        danger=True,
    )
