from relprev.report.figures.flow import Step, plot_flow, shared_steps

ALL = Step("visits in the files", "900 visits", "")
ADULTS = Step("age 18 or more", "700 visits", "200 visits excluded")
RACE = Step("race known", "690 visits", "10 visits excluded")
SEX = Step("sex known", "", "")


def test_flows_share_the_steps_they_begin_with():
    assert shared_steps([[ALL, ADULTS, RACE], [ALL, ADULTS, SEX]]) == 2
    assert shared_steps([[ALL, ADULTS], [ALL, ADULTS]]) == 2
    assert shared_steps([[ALL], [SEX]]) == 0
    assert shared_steps([]) == 0


def test_every_step_is_drawn_once_and_branches_are_named():
    ax = plot_flow([ALL, ADULTS], {"race": [RACE], "sex": [SEX]})
    texts = [text.get_text() for text in ax.texts if text.get_text()]
    assert "visits in the files\n900 visits" in texts
    assert "By race: race known\n690 visits" in texts
    assert "By sex: sex known" in texts
    assert texts.count("200 visits excluded") == 1


def test_one_variable_needs_no_name():
    texts = [text.get_text() for text in plot_flow([ALL], {"race": [RACE]}).texts]
    assert "race known\n690 visits" in texts


def test_a_study_has_one_flow(page, report):
    assert page.words.count("visits in the files:") == 2 * len({  # in a line and in the flow
        tuple(found.attrition["visits"].astype("Int64").fillna(-1)) for found in report.variables
    })  # fmt: skip
