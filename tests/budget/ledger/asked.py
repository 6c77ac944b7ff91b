"""Questions to a budget."""

from rundry.agent.budget.admission import CallRequest, Grant, admit
from rundry.agent.budget.count_margin import Margin
from rundry.agent.budget.ledger import Left
from rundry.agent.budget.reserve import Reserve
from rundry.agent.protocol import Budget, Exhausted, Price, Spent

UNLIMITED = Budget(steps=None, tokens=None, usd=None, seconds=None)


PRICE = Price(input=3e-6, output=15e-6, cached=0.3e-6, worst_input=3.75e-6, worst_output=15e-6)


def ask(
    budget=UNLIMITED,
    spent=None,
    prompt=1_000,
    *,
    price: Price | None = PRICE,
    margin=None,
    reserve=None,
    window=200_000,
    max_output=None,
    now=1_000.0,
    **kind,
) -> Grant | Exhausted:
    left = Left(budget=budget, spent=spent or Spent(), reserve=reserve or Reserve())
    request = CallRequest(
        prompt_tokens=prompt, margin=margin or Margin(), window=window, max_output=max_output, now=now, **kind
    )
    return admit([left], price, request)


def limits(**given) -> Budget:
    return Budget(**{"steps": None, "tokens": None, "usd": None, "seconds": None, **given})
