from relprev.sources.attrition import Attrition, Step


def test_steps_follow_each_other_and_unknown_patients_stay_unknown():
    first = Attrition((Step("visits in the files", 10, None),))
    table = first.then(Step("adults", 7, None), Step("adults again", 7, None)).to_frame()
    assert table["excluded_visits"].tolist() == [0, 3, 0]
    assert table["patients"].isna().all()
    assert len(first.steps) == 1
    assert "adults again" in str(first.then(Step("adults again", 7, None)))
