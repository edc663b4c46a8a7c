"""The first two pages: whole for few comparisons, condensed for many."""

from dataclasses import replace

import pandas as pd
import pytest

from relprev.report import render_page
from relprev.report.page.front import ROWS, front_of
from relprev.report.page.layout import lay_out
from tests.report.pages import Page
from tests.report.studies import study


def sensitivity(found):
    return next(one for one in found.checks if one.kind == "sensitivity")


def about(check, group, versus):
    """A sensitivity analysis as if it were of another comparison."""
    name = f"Sensitivity of {group} versus {versus}"
    return replace(check, name=name, table=check.table.assign(group=group, versus=versus))


@pytest.fixture(scope="module")
def four(race):
    """Four variables, each with sensitivity analyses of two comparisons."""
    one = sensitivity(race)
    checks = tuple(about(one, group, "complement") for group in ("White", "Black"))
    some = replace(race, checks=checks)
    return study(*(replace(some, name=f"place {k}") for k in range(4)))


def test_few_variables_and_comparisons_are_whole(race, bare):
    layout = lay_out(study(race, replace(bare, name="again")))
    front = front_of(layout)
    assert front.table is None
    assert front.trust == layout.trust
    assert front.cards == layout.variables
    assert front.overturning(layout.variables[0]) == layout.variables[0].sensitivity


def test_four_variables_are_condensed_and_the_appendix_has_what_is_left_out(four):
    front = front_of(lay_out(four))
    assert len(front.table.frame) == 20  # four groups each, and the one that was left out
    assert front.left_out == 0
    assert front.table.texts()["Group"].iloc[0] == "place 0: White"
    page = render_page(four)
    first, appendix = page.split('<div class="appendix">')
    assert 'data-name="front"' in first
    assert "<figure" not in first
    for k in range(4):
        assert first.count(f'data-name="decomposition-place-{k}"') == 0
        assert appendix.count(f'data-name="decomposition-place-{k}"') == 1
        assert appendix.count(f'data-name="forest-place-{k}"') == 1


def test_a_condensed_front_tells_what_could_overturn_the_answer_it_gives(four):
    layout = lay_out(four)
    front, part = front_of(layout), layout.variables[0]
    assert part.answer.about == {"Black", "complement"}
    (one,) = front.overturning(part)
    assert one.check.name == "Sensitivity of Black versus complement"


def test_of_two_groups_everyone_else_is_the_other(bare, race):
    """The answer names the other group; the analysis is of "everyone else"."""
    main = bare.main[bare.main["group"].isin(["White", "Black"])]
    counts = main[["group", "n", "n_diagnosed"]]
    check = about(sensitivity(race), "Black", "complement")
    two = replace(bare, estimates={"debiased": main}, groups=counts, checks=(check,), left_out={})
    layout = lay_out(study(*(replace(two, name=f"sex {k}") for k in range(3))))
    assert [len(front_of(layout).overturning(part)) for part in layout.variables] == [1, 1, 1]


def test_many_comparisons_of_one_variable_are_condensed_to_the_best_supported(bare):
    row = bare.main.iloc[[0]].assign(estimate=1.1, ci_low=0.9, ci_high=1.3, n=500, n_diagnosed=90)
    main = pd.concat([row.assign(group=f"county {k:02}") for k in range(30)], ignore_index=True)
    main.loc[17, ["estimate", "ci_low", "ci_high"]] = 2.0, 1.8, 2.2
    found = replace(bare, estimates={"debiased": main}, groups=main[["group", "n", "n_diagnosed"]],
                    left_out={})  # fmt: skip
    report = study(found)
    front = front_of(lay_out(report))
    assert len(front.table.frame) == ROWS
    assert front.left_out == 30 - ROWS
    assert "race: county 17" in set(front.table.frame["group"])
    words = Page(render_page(report)).words
    assert f"These are the best supported; {30 - ROWS} more open the appendix" in words


def test_steps_that_all_variables_share_are_told_once(four, bare):
    (said,) = front_of(lay_out(four)).who
    assert said.startswith("visits in the files: ")
    fewer = bare.attrition.assign(visits=bare.attrition["visits"] - [3000, 2000, 1000])
    apart = study(bare, replace(bare, name="ward", attrition=fewer))
    assert [one.split(": ")[:2] for one in front_of(lay_out(apart)).who] == [
        ["By race", "visits in the files"], ["By ward", "visits in the files"],
    ]  # fmt: skip
    last = fewer.assign(visits=[*bare.attrition["visits"].iloc[:2], 5000])
    part = study(bare, replace(bare, name="ward", attrition=last))
    assert [one.split(": ")[:2] for one in front_of(lay_out(part)).who][1:] == [
        ["By race", "group recorded"], ["By ward", "group recorded"],
    ]  # fmt: skip


def test_findings_of_checks_are_told_by_name_only(four, race):
    checks = tuple(one for one in race.checks if one.kind == "constant_ratio")
    report = study(*(replace(race, name=f"place {k}", checks=checks) for k in range(4)))
    layout = lay_out(report)
    assert layout.trust.verdict in ("concern", "cannot tell")
    brief = front_of(layout).trust
    assert (brief.verdict, brief.heading) == (layout.trust.verdict, layout.trust.heading)
    assert any("by place 0, place 1, place 2 and place 3." in point for point in brief.points)
    assert str(checks[0].effect) not in " ".join(brief.points)
    assert "No estimate for Other, by place 0; Other, by place 1" in " ".join(brief.points)
