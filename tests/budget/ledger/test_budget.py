import pytest
from budget.ledger.asked import PRICE, ask, limits
from hypothesis import given, settings, strategies as st
from sampling import examples

from rundry.agent.budget.admission import Grant
from rundry.agent.budget.count_margin import Margin
from rundry.agent.budget.reserve import reserve_for
from rundry.agent.protocol import FREE, Budget, Exhausted, Price, Spent, Tokens


class TestWhatIsGranted:
    def test_max_tokens_is_lowered_to_what_the_tokens_allow(self):
        grant = ask(limits(tokens=2_000))
        assert isinstance(grant, Grant)
        assert grant.max_tokens == 2_000 - 1_450
        assert grant.worst_tokens == 2_000

    def test_max_tokens_is_lowered_to_what_the_money_allows(self):
        grant = ask(limits(usd=0.01))
        assert isinstance(grant, Grant)
        assert grant.worst_usd == pytest.approx(0.01, abs=15e-6)
        assert grant.worst_usd <= 0.01

    def test_the_worst_case_takes_the_dearest_rates_and_the_margin(self):
        grant = ask(max_output=100)
        assert grant.worst_usd == pytest.approx(1_450 * 3.75e-6 + 100 * 15e-6)

    def test_an_answer_is_no_longer_than_the_model_can_write(self):
        assert ask(max_output=512).max_tokens == 512

    def test_prompt_and_answer_fit_the_window_together(self):
        assert ask(prompt=3_000, window=4_096).max_tokens == 796

    def test_a_full_window_is_not_an_empty_budget(self):
        assert isinstance(ask(prompt=4_090, window=4_096), Grant)

    def test_a_model_that_answers_in_few_words_is_not_refused_for_it(self):
        assert ask(limits(tokens=1_500), max_output=20).max_tokens == 20

    def test_an_answer_that_cannot_be_limited_is_admitted_at_its_worst_case_alone(self):
        grant = ask(limits(tokens=12_000), max_output=8_000, limits_output=False)
        assert isinstance(grant, Grant)
        assert (grant.max_tokens, grant.worst_tokens) == (8_000, 9_450)
        refused = ask(limits(tokens=9_449), max_output=8_000, limits_output=False)
        assert isinstance(refused, Exhausted)
        assert refused.detail.endswith(
            "(the server accepts no limit of the answer, so 8,000 tokens of output are assumed)"
        )

    def test_an_answer_that_cannot_be_limited_may_fill_the_rest_of_the_window(self):
        assert ask(window=50_000, max_output=None, limits_output=False).max_tokens == 49_000
        assert ask(window=50_000, max_output=50_000, limits_output=False, wrap_up=True).max_tokens == 49_000

    def test_the_price_of_an_answer_that_cannot_be_limited_is_the_highest_possible(self):
        assert isinstance(ask(limits(usd=0.1), max_output=8_000, limits_output=False), Exhausted)
        grant = ask(limits(usd=0.2), max_output=8_000, limits_output=False)
        assert grant.worst_usd == pytest.approx(1_450 * 3.75e-6 + 8_000 * 15e-6)

    def test_one_cut_stream_cannot_take_all_that_is_left(self):
        grant = ask(limits(tokens=60_000))
        assert grant.worst_tokens < 60_000 / 3

    def test_an_unpriced_call_has_no_worst_price(self):
        assert ask(price=None).worst_usd is None

    def test_a_free_call_is_made_when_the_money_is_spent(self):
        assert isinstance(ask(limits(usd=0.5), Spent(usd=0.5), price=FREE), Grant)
        assert isinstance(ask(limits(usd=0.0), price=FREE), Grant)

    def test_a_free_call_is_not_made_past_a_limit_that_was_lowered(self):
        assert isinstance(ask(limits(usd=0.4), Spent(usd=0.5), price=FREE), Exhausted)

    def test_without_limits_time_is_unlimited(self):
        assert ask().seconds is None


class TestTime:
    def test_a_call_gets_what_is_left_but_for_the_wrap_up(self):
        budget = limits(seconds=600.0)
        grant = ask(budget, Spent(seconds=100.0), reserve=reserve_for(budget, PRICE, 10_000))
        assert grant.seconds == pytest.approx(480.0)

    def test_the_wrap_up_gets_all_that_is_left(self):
        budget = limits(seconds=600.0)
        reserve = reserve_for(budget, PRICE, 10_000)
        assert ask(budget, Spent(seconds=585.0), reserve=reserve, wrap_up=True).seconds == pytest.approx(15.0)

    def test_a_tenth_of_a_short_limit_is_reserved(self):
        assert reserve_for(limits(seconds=5.0), PRICE, 10_000).seconds == pytest.approx(0.5)

    def test_when_it_is_over_the_detail_says_so(self):
        end = ask(limits(seconds=600.0), Spent(seconds=603.0))
        assert end == Exhausted(resource="seconds", detail="time budget: 603 of 600 s")

    def test_when_only_the_reserve_is_left_the_detail_says_so(self):
        budget = limits(seconds=600.0)
        end = ask(budget, Spent(seconds=581.0), reserve=reserve_for(budget, PRICE, 10_000))
        assert end.detail == "time budget: 581 of 600 s, 20 s are kept for the wrap-up"

    def test_the_nearer_of_limit_and_deadline_counts(self):
        grant = ask(limits(seconds=600.0, deadline=1_050.0), now=1_000.0)
        assert grant.seconds == pytest.approx(50.0)

    def test_a_near_deadline_does_not_refuse_a_fresh_run(self):
        budget = limits(deadline=1_010.0)
        grant = ask(budget, reserve=reserve_for(budget, PRICE, 10_000), now=1_000.0)
        assert grant.seconds == pytest.approx(9.0)

    def test_a_deadline_that_has_come_ends_the_run(self):
        end = ask(limits(deadline=1_000.0), now=1_001.0)
        assert end == Exhausted(resource="deadline", detail="time budget: 0.0 s until the deadline")


class TestSteps:
    def test_the_last_step_is_granted_and_the_next_is_not(self):
        assert isinstance(ask(limits(steps=40), Spent(steps=39)), Grant)
        end = ask(limits(steps=40), Spent(steps=40))
        assert end == Exhausted(resource="steps", detail="step budget: 40 of 40 steps")

    def test_a_wrap_up_is_not_a_step(self):
        assert isinstance(ask(limits(steps=40), Spent(steps=40), wrap_up=True), Grant)

    def test_a_retry_belongs_to_its_step(self):
        assert isinstance(ask(limits(steps=40), Spent(steps=40), retry=True), Grant)

    def test_no_steps_means_no_steps(self):
        assert ask(limits(steps=0)).detail == "step budget: 0 of 0 steps"


class TestDetails:
    def test_money_reads_as_a_sentence(self):
        end = ask(limits(usd=0.5), Spent(usd=0.498), prompt=2_008, price=PRICE)
        assert end.resource == "usd"
        assert end.detail == "cost budget: 0.498 of 0.500 USD, the next call could cost 0.011"

    def test_small_money_is_not_rounded_away(self):
        end = ask(
            limits(usd=0.00002), price=Price(input=1e-7, output=1e-7, cached=0, worst_input=1e-7, worst_output=1e-7)
        )
        assert end.detail == "cost budget: 0.00000 of 0.00002 USD, the next call could cost 0.00015"

    def test_tokens_read_as_a_sentence(self):
        end = ask(limits(tokens=200_000), Spent(tokens=Tokens(195_000, 4_500)))
        assert end.detail == "token budget: 199,500 of 200,000 tokens, the next call could take 1,514"

    def test_what_is_kept_for_the_wrap_up_is_named(self):
        budget = limits(tokens=200_000)
        end = ask(budget, Spent(tokens=Tokens(190_000, 0)), reserve=reserve_for(budget, PRICE, 200_000), prompt=3_000)
        assert end.detail.endswith("the next call could take 4,014, 9,000 are kept for the wrap-up")

    def test_a_limit_too_small_for_any_call_says_what_one_takes(self):
        end = ask(limits(tokens=100))
        assert end.detail == "token budget: 0 of 100 tokens, the next call could take 1,514"


class TestMargin:
    def test_it_starts_with_a_quarter_and_200_tokens(self):
        assert Margin().bound(1_000) == 1_450
        assert Margin().bound(0) == 200

    def test_it_is_learned_from_honest_counts_and_stays_above_ten_percent(self):
        bound = Margin([(1_000, 1_000)] * 20).bound(10_000)
        assert 11_000 <= bound <= 11_100

    def test_one_usage_is_not_enough_to_trust(self):
        assert Margin([(1_000, 1_000)]).bound(10_000) >= 12_000

    def test_a_provider_that_counts_more_widens_it(self):
        assert Margin([(1_000, 1_000), (2_000, 3_200)]).bound(10_000) >= 16_000

    @given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 30_000)), max_size=20), st.integers(0, 1_000_000))
    def test_it_covers_all_that_was_seen_and_never_falls_below_ten_percent(self, pairs, counted):
        margin = Margin(pairs)
        assert margin.bound(counted) >= counted * 1.1
        assert all(margin.bound(ours) >= billed for ours, billed in pairs if ours > 0)


class TestReserve:
    def test_it_is_small_next_to_a_usual_limit(self):
        reserve = reserve_for(Budget(), PRICE, 200_000)
        assert 0 < reserve.tokens <= 20_000
        assert 0 < reserve.usd <= 0.05
        assert reserve.seconds == 20.0

    def test_nothing_is_reserved_where_no_wrap_up_could_use_it(self):
        assert reserve_for(limits(tokens=1_000), PRICE, 200_000).tokens == 0

    @pytest.mark.parametrize("tokens", [2_800, 4_000, 6_000])
    def test_it_leaves_three_quarters_of_a_small_limit_to_the_work(self, tokens):
        reserve = reserve_for(limits(tokens=tokens), PRICE, 200_000)
        assert 700 <= reserve.tokens <= tokens / 4

    def test_it_fits_the_window(self):
        assert reserve_for(limits(tokens=1_000_000), PRICE, 4_096).tokens <= 4_096

    def test_what_costs_nothing_needs_no_money(self):
        assert reserve_for(Budget(), FREE, 4_096).usd == reserve_for(Budget(), None, 4_096).usd == 0

    @given(st.integers(2_800, 3_000_000), st.integers(1, 60_000))
    @settings(max_examples=examples(200), deadline=None)
    def test_it_still_holds_a_wrap_up_when_work_took_the_rest(self, tokens, prompt):
        budget = limits(tokens=tokens)
        reserve = reserve_for(budget, PRICE, 200_000)
        spent = Spent()
        while isinstance(grant := ask(budget, spent, prompt, reserve=reserve), Grant):
            spent += Spent(tokens=Tokens(Margin().bound(prompt), grant.max_tokens))
        assert isinstance(ask(budget, spent, 300, reserve=reserve, wrap_up=True), Grant)

    def test_the_money_of_a_wrap_up_is_left_when_work_took_the_rest(self):
        budget = limits(usd=1.0)
        reserve = reserve_for(budget, PRICE, 200_000)
        spent = Spent()
        while isinstance(grant := ask(budget, spent, 3_000, reserve=reserve), Grant):
            spent += Spent(usd=grant.worst_usd)
        assert spent.usd <= 1.0 - reserve.usd
        assert isinstance(ask(budget, spent, 300, reserve=reserve, wrap_up=True), Grant)
