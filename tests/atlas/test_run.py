"""A study of all conditions: from its file to its folder, stopped and resumed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from relprev.atlas import Atlas
from relprev.atlas import run as running
from relprev.cohort.spec import NO_CONDITION
from relprev.errors import InvalidInputError
from relprev.study.file.reading import read_study
from tests.atlas.worlds import world
from tests.cli.commands import relprev

CHAPTERS = "FIJK"
TEXT = """
[source]
kind = "tables"
visits = "visits.csv"
codes = "codes.csv"
visit_id = "visit"
code = "code"
version = "ICD10"
sex = "sex"
attributes = ["ward"]
[features]
roll_up = "category"
[[features.extra]]
column = "sex"
[[groups]]
column = "ward"
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A world's conditions as ICD-10 categories of four chapters, and its codes as injuries."""
    folder = tmp_path_factory.mktemp("study")
    cohort = world().cohort
    X = cohort.X.to_scipy().tocoo()
    n_codes = cohort.n_cols - len(world().names)
    names = [f"S{k:02d}" for k in range(n_codes)]
    names += [f"{CHAPTERS[k % 4]}{k:02d}" for k in range(len(world().names))]
    pd.DataFrame({"visit": X.row, "code": np.array(names)[X.col]}).to_csv(
        folder / "codes.csv", index=False
    )
    sex = np.where(np.arange(cohort.n) % 2, "F", "M")
    pd.DataFrame({"visit": np.arange(cohort.n), "ward": cohort.group_labels, "sex": sex}).to_csv(
        folder / "visits.csv", index=False
    )
    (folder / "study.toml").write_text(TEXT)
    return folder / "study.toml"


@pytest.fixture(scope="module")
def out(study):
    folder = study.parent / "atlas"
    result = relprev("atlas", study, "--out", folder, "--conditions", "category", "--quiet")
    assert result.returncode == 0, result.stderr
    assert "comparisons stand out" in result.stdout
    return folder


def test_the_command_writes_page_tables_manifest_and_log(out):
    assert {file.name for file in out.iterdir() if not file.name.startswith(".")} == {
        "atlas.html", "atlas.csv", "atlas.parquet", "nulls.csv", "nulls.parquet", "manifest.json",
        "run.log",
    }  # fmt: skip
    assert not out.with_name("atlas.work").exists()


def test_two_groups_are_compared_once(out):
    pairs = Atlas.load(out).table[["group", "versus"]].drop_duplicates()
    assert pairs.to_numpy().tolist() == [["Group A", "Group B"]]


def test_conditions_recorded_at_different_rates_are_found_and_followed_up(out):
    found = Atlas.load(out).found()
    assert {"ICD10:F00", "ICD10:I01"} <= set(found["condition"])
    again = found.set_index("condition").loc["ICD10:F00"]
    assert again["method"] == "doubly robust"
    assert abs(np.log(again["robust_diagnosis_ratio"] / again["diagnosis_ratio"])) < 0.3


def test_a_run_that_was_stopped_resumes_and_gives_the_same(study, out, tmp_path, monkeypatch):
    loaded = read_study(study, condition=NO_CONDITION)
    made = []

    def stop(scan, block, *rest):
        made.append(block.name)
        if len(made) == 3:
            raise KeyboardInterrupt
        return whole(scan, block, *rest)

    whole = running._block
    monkeypatch.setattr(running, "_block", stop)
    again = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        running.run_atlas(loaded, again, conditions="category", verbose=False)
    assert not again.exists()
    running.run_atlas(loaded, again, conditions="category", verbose=False)
    assert made[3] == made[2]  # where it was stopped
    assert not set(made[:2]) & set(made[3:])
    pd.testing.assert_frame_equal(Atlas.load(again).table, Atlas.load(out).table)


def test_a_study_file_needs_no_condition_for_an_atlas(study):
    assert read_study(study, condition=NO_CONDITION).cohort.condition == NO_CONDITION
    with pytest.raises(InvalidInputError, match="condition is missing"):
        read_study(study)


def test_phecodes_of_a_study_file_are_conditions(study, tmp_path):
    """CCSR was the roll-up whatever the conditions, in which no ICD code could be found."""
    rows = "".join(f"{letter}{k:02d},{k // 2}\n" for k in range(40) for letter in CHAPTERS[k % 4])
    (study.parent / "phecodes.csv").write_text(f"icd10,phecode\n{rows}")
    text = TEXT.replace('roll_up = "category"\n', "") + '[atlas]\nconditions = ["phecodes.csv"]\n'
    file = study.with_name("phecodes.toml")
    file.write_text(text)
    loaded = read_study(file, condition=NO_CONDITION)
    assert loaded.atlas.conditions == ("phecodes.csv",)
    (found,) = running.run_atlas(loaded, verbose=False).report.variables
    table = found.atlas.table
    assert table["condition"].nunique() == 20
    assert set(table["condition"]) == {f"phecode-{k}" for k in range(20)}
    assert set(table["description"]) == {f"Phecode {k}" for k in range(20)}


def test_conditions_that_the_roll_up_hides(study):
    loaded = read_study(study, condition=NO_CONDITION)
    rolled = replace(loaded.cohort.features, roll_up="ccsr")
    loaded = replace(loaded, cohort=replace(loaded.cohort, features=rolled))
    with pytest.raises(InvalidInputError, match=r"features\.roll_up: got 'ccsr'.*'category'"):
        running.as_atlas(loaded, "category")


def test_features_of_the_groups_own_column_are_not_used():
    names = ["sex=F", "sex=M", "age:[18, 30)", "sexuality:x"]
    assert running._telling(names, ("sex",)) == (0, 1)
    assert running._telling(names, ("age",)) == (2,)


def test_nested_conditions_are_known():
    names = ["ICD10:F329", "ICD10:F411", "ICD10:I10", "x:1"]
    blocks = running.blocks_of_conditions(names, {"mood": ["ICD10:F*"], "low": ["ICD10:F329"]})
    assert running._within(blocks) == [("low", "mood")]
