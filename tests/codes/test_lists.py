from __future__ import annotations

import pytest
from typer.testing import CliRunner

from relprev.cli import app
from relprev.codes import code_set, read_code_list, read_phecode_sets, read_phecodes
from relprev.errors import InvalidInputError

OPEN = "code,term\nJ45,Asthma\nJ45.0,Predominantly allergic asthma\n,\n"
PHECODES = {
    "rolled.csv": "ICD9,ICD9 String,PheCode,Phenotype\n"
    '493.00,"Asthma, extrinsic",495,Asthma\n493.0,Extrinsic,495.10,Allergic\n401.9,HTN,401.1,HTN\n',
    "icd10cm.csv": "icd10cm,icd10cm_str,phecode,phecode_str\n"
    "J45.909,Unspecified asthma,495,Asthma\nJ46,Status,495.2,Asthma with exacerbation\n",
    "map.csv": "vocabulary_id,code,phecode\nICD9CM,493,495.0\nICD10CM,J45,495.11\nICD9CM,1,4950\n",
    "x.csv": "phecode,ICD,vocabulary_id\n"
    "RE_475,J45,ICD10CM\nRE_475.1,J45.0,ICD10CM\nRE_4751,A,ICD10\n",
}


def write(folder, name, text, encoding="utf-8"):
    file = folder / name
    file.write_text(text, encoding=encoding)
    return file


def test_a_list_of_opencodelists(tmp_path):
    file = write(tmp_path, "asthma.csv", OPEN)
    found = read_code_list(file, "ICD10")
    assert (found.name, found.source) == ("asthma", "asthma.csv")
    assert found.to_rows() == [("ICD10", "J45", "Asthma"),
                               ("ICD10", "J450", "Predominantly allergic asthma")]  # fmt: skip
    assert ("ICD10", "J45909") not in found
    assert ("ICD10", "J45909") in read_code_list(file, "ICD10", children=True)


def test_columns_and_versions_in_other_words(tmp_path):
    file = write(
        tmp_path, "a.csv", "\ufeffICD_code,Name,icd_version\n493.9,Caf\u00e9,9\nJ45,x,10\n"
    )
    assert [str(p) for p in read_code_list(file).patterns] == ["ICD9:4939", "ICD10:J45"]
    file = write(tmp_path, "b.csv", "icd10,term\nJ45,Caf\u00e9\n", "cp1252")
    assert read_code_list(file).to_rows() == [("ICD10", "J45", "Caf\u00e9")]
    file = write(tmp_path, "c.csv", "id,words\n195967001,Asthma\n")
    assert str(read_code_list(file, "SNOMED", code="id", term="Words").patterns[0]) == (
        "SNOMED:195967001"
    )


def test_lost_zeros_of_a_list_are_restored(tmp_path):
    file = write(
        tmp_path, "sepsis.csv", "code,term\n38.9,Septicemia\n995.91,Sepsis\n785.52,Shock\n"
    )
    assert ("ICD9", "0389") in read_code_list(file, "ICD9")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (OPEN, {}, "does not say which vocabulary"),
        (OPEN, {"version": "ICD10", "code": "cod"}, "no column 'cod'; did you mean 'code'"),
        (OPEN, {"version": "ICD10", "term": "terms"}, "did you mean 'term'"),
        (
            "a,b\n1,2\n",
            {"version": "ICD10"},
            "no column of the codes; it has a, b; name the right one by code=",
        ),
        ("code,term\nJ45\n", {"version": "ICD10"}, "1 rows do not have the 2 cells"),
        ("code,term\n,\n", {"version": "ICD10"}, "holds no codes"),
        ("", {"version": "ICD10"}, "expected a CSV file"),
        ("vocabulary_id,code,phecode\nICD9CM,493,495\n", {}, "a map of phecodes.*by phecode="),
        ("code\n38\n49\n389\n", {"version": "ICD9"}, "lost leading zeros"),
    ],
)
def test_bad_lists_are_refused(tmp_path, text, options, words):
    with pytest.raises(InvalidInputError, match=words):
        read_code_list(write(tmp_path, "list.csv", text), **options)
    with pytest.raises(InvalidInputError, match="no code list at"):
        read_code_list(tmp_path / "nothing.csv", "ICD10")


@pytest.mark.parametrize(
    ("name", "phecode", "codes", "title"),
    [
        ("rolled.csv", "495", ["ICD9:49300", "ICD9:4930"], "Asthma"),
        ("rolled.csv", "495.1", ["ICD9:4930"], "Allergic"),
        ("icd10cm.csv", "495", ["ICD10:J45909", "ICD10:J46"], "Asthma"),
        ("map.csv", "495", ["ICD9:493", "ICD10:J45"], "Phecode 495"),
        ("x.csv", "RE_475", ["ICD10:J45", "ICD10:J450"], "Phecode RE_475"),
    ],
)
def test_phecodes_of_every_layout(tmp_path, name, phecode, codes, title):
    found = read_phecodes(write(tmp_path, name, PHECODES[name]), phecode)
    assert [str(pattern) for pattern in found.patterns] == codes
    assert (found.title, found.name) == (title, f"phecode-{phecode}")


def test_an_unknown_phecode_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no code for the phecode '999'"):
        read_phecodes(write(tmp_path, "map.csv", PHECODES["map.csv"]), "999")


def test_import_on_the_command_line(tmp_path):
    run = CliRunner()
    file, out = write(tmp_path, "map.csv", PHECODES["map.csv"]), tmp_path / "asthma.toml"
    arguments = ["codes", "import", str(file), "--phecode", "495", "--out", str(out)]
    done = run.invoke(app, arguments)
    assert done.exit_code == 0
    assert "2 codes" in done.output
    assert ("ICD10", "J45") in code_set(str(out))
    assert "exists already" in str(run.invoke(app, arguments).exception)
    wrong = ["codes", "import", str(file), "--out", str(tmp_path / "asthma.csv")]
    assert "must end in .toml" in str(run.invoke(app, wrong).exception)
    both = [*arguments[:-1], str(tmp_path / "b.toml"), "--children"]
    assert "--phecode needs none" in str(run.invoke(app, both).exception)


def test_list_and_show_say_whether_the_method_suits_a_condition():
    run = CliRunner()
    assert "hypertension" in run.invoke(app, ["codes", "list"]).output
    shown = run.invoke(app, ["codes", "show", "hypertension"]).output
    assert "Does the method suit it? No. Silent" in shown
    assert "Source: ICD-9-CM 401 to 405" in shown


def test_all_phecodes_of_a_map(tmp_path):
    for name, text in PHECODES.items():
        file = write(tmp_path, name, text)
        for found in read_phecode_sets(file):
            phecode = found.name.removeprefix("phecode-")
            one = read_phecodes(file, phecode)
            assert (found.name, found.patterns, found.title) == (one.name, one.patterns, one.title)
    with pytest.raises(InvalidInputError, match="no code with a phecode"):
        read_phecode_sets(write(tmp_path, "none.csv", "icd10,phecode\nJ45,\n"))
