from relprev.disclosure import Rule
from relprev.report import disclosed_estimates


def suppress(frame):
    return disclosed_estimates(frame, frame, Rule())


def test_small_count_and_the_next_smallest_are_hidden(frame):
    shown = suppress(frame).set_index("group")
    assert shown["n_diagnosed"].isna().tolist() == [False, False, True, True]


def test_ratios_that_reveal_hidden_counts_are_hidden_but_the_estimate_stays(frame):
    shown = suppress(frame).set_index("group")
    for column in ("observed_ratio", "diagnosis_ratio"):
        assert shown[column].isna().tolist() == [False, False, True, True]
    assert shown["estimate"].notna().all()


def test_intervals_of_hidden_ratios_are_hidden(frame):
    frame = frame.assign(observed_ci_low=0.4, diagnosis_ci_high=2.0)
    shown = suppress(frame).set_index("group")
    for column in ("observed_ci_low", "diagnosis_ci_high"):
        assert shown[column].isna().tolist() == [False, False, True, True]


def test_column_that_nobody_declared_is_not_shown(frame):
    """Whoever adds a column to the estimates has to say what it holds."""
    assert "sentence" not in suppress(frame.assign(sentence="Recorded diagnoses give 3.00."))


def test_two_small_groups_need_no_third(frame):
    frame["n_diagnosed"] = [40, 30, 6, 5]
    assert suppress(frame)["n_diagnosed"].isna().sum() == 2


def test_small_groups_whose_sum_is_small_need_a_third(frame):
    """The total less the others is the two groups' sum: with 1 and 1 it would give both away."""
    frame["n_diagnosed"] = [40, 30, 1, 1]
    assert suppress(frame)["n_diagnosed"].isna().tolist() == [False, True, True, True]


def test_zero_is_shown_and_is_no_cover_for_another_group(frame):
    frame["n_diagnosed"] = [40, 30, 0, 5]
    shown = suppress(frame)["n_diagnosed"]
    assert shown.isna().tolist() == [False, True, False, True]
    assert shown[2] == 0


def test_nothing_is_hidden_when_all_counts_are_large(frame):
    frame["n_diagnosed"] = 11
    assert suppress(frame).notna().drop(columns=["ci_low", "ci_high"]).all(axis=None)


def test_no_hidden_count_follows_from_the_table(frame):
    """With two groups the other one's row would give the hidden count away."""
    two = frame.iloc[[0, 3]].reset_index(drop=True)
    shown = suppress(two)
    assert shown["n_diagnosed"].isna().all()
    assert shown["observed_ratio"].isna().all()


def test_named_reference_with_hidden_count_hides_the_ratios(frame):
    frame = frame.iloc[:3].assign(versus="d", n_diagnosed=[40, 30, 5])
    shown = suppress(frame)
    assert shown["observed_ratio"].isna().tolist() == [False, True, True]


def test_original_table_is_not_changed(frame):
    suppress(frame)
    assert frame["n_diagnosed"].notna().all()
