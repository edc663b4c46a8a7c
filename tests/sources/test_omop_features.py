from __future__ import annotations

import zipfile

import pandas as pd
import pytest

from relprev.errors import DataWarning, InvalidInputError
from relprev.sources import read_omop
from relprev.sources.database import connect
from relprev.sources.omop_features import KINDS, tables_needed
from relprev.sources.omop_query import Queries, Scope
from relprev.sources.omop_tables import open_tables
from tests.sources.conftest import TABLES

ALL = [kind.name for kind in KINDS]
TEXTS = {
    "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,"
              "race_concept_id,ethnicity_concept_id\n1,8532,1980,6,15,8527,0\n",
    "observation_period": "person_id,observation_period_start_date,observation_period_end_date\n"
                          "1,2020-06-01,2020-06-30\n",
    "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date,"
                        "visit_end_date\n11,1,9203,2020-06-14,2020-06-14\n"
                        "12,1,9203,2020-06-16,2020-06-17\n",
    "condition_occurrence": "person_id,condition_start_date,visit_occurrence_id,"
                            "condition_concept_id,condition_source_value,"
                            "condition_source_concept_id\n1,2020-06-14,11,500,T74.11XA,600\n",
    "concept": "concept_id,concept_name,vocabulary_id,concept_code\n"
               "8527,White,Race,5\n600,Abuse,ICD10CM,T74.11XA\n"
               "1,Glucose,LOINC,2345-7\n2,HIV test,LOINC,7917-8\n3,High,SNOMED,75540009\n"
               "4,Positive,SNOMED,10828004\n5,Smoking status,LOINC,72166-2\n"
               "6,Former smoker,SNOMED,8517006\n7,Suture,CPT4,12001\n"
               "20,aspirin 81 MG tablet,RxNorm,243670\n21,aspirin,RxNorm,1191\n"
               "22,Other analgesics,ATC,N02B\n23,Nervous system,ATC,N\n"
               "30,ibuprofen 200 MG,RxNorm,310965\n31,ibuprofen,RxNorm,5640\n"
               "40,local ointment,RxNorm,999\n",
    "concept_ancestor": "ancestor_concept_id,descendant_concept_id,min_levels_of_separation,"
                        "max_levels_of_separation\n"
                        "20,20,0,0\n21,20,1,1\n21,21,0,0\n22,20,2,2\n22,21,1,1\n23,20,3,3\n"
                        "30,30,0,0\n31,30,1,1\n31,31,0,0\n7,7,0,0\n5,5,0,0\n",
    "measurement": "person_id,measurement_date,visit_occurrence_id,measurement_concept_id,"
                   "value_as_number,value_as_concept_id,range_low,range_high\n"
                   "1,2020-06-14,11,1,200,0,70,110\n1,2020-06-14,11,1,60,0,70,110\n"
                   "1,2020-06-14,11,1,90,0,70,110\n1,2020-06-14,11,1,500,0,,\n"
                   "1,2020-06-16,12,1,,3,,\n1,2020-06-16,12,2,,4,,\n"
                   "1,2020-06-17,,2,9,,1,8\n1,2020-06-16,12,0,200,0,70,110\n",
    "observation": "person_id,observation_date,visit_occurrence_id,observation_concept_id,"
                   "value_as_concept_id,value_as_string\n1,2020-06-14,11,5,6,secret\n"
                   "1,2020-06-16,12,5,0,secret\n1,2020-06-16,12,0,0,secret\n",
    "procedure_occurrence": "person_id,procedure_date,visit_occurrence_id,procedure_concept_id\n"
                            "1,2020-06-14,11,7\n1,2020-06-14,11,7\n1,2020-06-17,99,7\n"
                            "1,2020-06-16,12,\n",
    "drug_exposure": "person_id,drug_exposure_start_date,visit_occurrence_id,drug_concept_id\n"
                     "1,2020-06-14,11,20\n1,2020-06-14,11,30\n1,2020-06-16,12,40\n"
                     "1,2020-06-16,12,0\n1,2020-07-01,,40\n",
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:some of the .* records")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "features"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def found(source):
    rows = source.query(
        "SELECT visit, version || ':' || code AS name FROM codes "
        "WHERE role <> 'diagnosis' ORDER BY ALL"
    )
    return [(visit, name) for visit, name in rows]


EXPECTED = [
    (0, "LAB:1_HIGH"), (0, "LAB:1_LOW"), (0, "MED:31"), (0, "MED:N02B"), (0, "OBS:5=6"),
    (0, "PROC:7"), (1, "LAB:1_HIGH"), (1, "LAB:2_POSITIVE"), (1, "MED:40"), (1, "OBS:5"),
]  # fmt: skip


def test_every_kind_by_hand_wherever_the_tables_are(folder, moved):
    source = moved(folder, kinds=ALL)
    assert found(source) == EXPECTED
    words = source.descriptions
    assert words["LAB:1_HIGH"] == "Glucose, above its range"
    assert words["LAB:2_POSITIVE"] == "HIV test, positive"
    assert words["OBS:5=6"] == "Smoking status: Former smoker"
    assert words["MED:N02B"] == "Other analgesics"
    assert words["MED:31"] == "ibuprofen"
    assert not any("secret" in text for text in words.values())


def test_what_is_not_a_number_is_outside_no_range(folder, moved):
    """NaN, which Spark and pandas write for missing, is above all numbers to both engines."""
    rows = TEXTS["measurement"].splitlines()
    rows += ["1,2020-06-14,11,2,5,0,NaN,NaN", "1,2020-06-14,11,2,NaN,0,1,8"]
    (folder / "measurement.csv").write_text("\n".join(rows) + "\n")
    assert found(moved(folder, kinds=ALL)) == EXPECTED


def test_records_of_every_kind_are_matched_by_date(folder, moved):
    more = [(1, "LAB:2_HIGH"), (1, "PROC:7")]
    assert found(moved(folder, kinds=ALL, match="date")) == sorted(EXPECTED + more)


def test_records_of_every_kind_belong_to_people(folder, moved):
    whole = found(moved(folder, kinds=ALL, unit="person"))
    assert whole == sorted({(0, name) for _, name in EXPECTED} | {(0, "LAB:2_HIGH")})


def test_a_window_cuts_records_of_every_kind(folder, moved):
    source = moved(folder, kinds=ALL, unit="person", start="2020-06-17")
    assert found(source) == [(0, "LAB:2_HIGH"), (0, "PROC:7")]


def test_every_table_of_records_tells_what_it_lost(folder):
    with pytest.warns(DataWarning) as warned:
        source = read_omop(folder, kinds=["procedures", "medications", "observations"])
    said = [str(one.message).split(" (")[0] for one in warned]
    assert said == ["some of the procedure records", "some of the drug records"]
    assert [step.step for step in source.attrition.steps[2:]] == [
        "procedure records not used, as they match no visit: some",
        "drug records not used, as they match no visit: some",
    ]


def test_a_concept_set_takes_its_records_of_every_kind(folder, moved):
    """What names the condition would otherwise be left among the features."""
    sets = {"aspirin": [21], "sutures": [7]}
    source = moved(folder, kinds=ALL, concepts=sets)
    changed = {"MED:N02B": "SET:ASPIRIN", "PROC:7": "SET:SUTURES"}
    assert found(source) == sorted((visit, changed.get(name, name)) for visit, name in EXPECTED)
    assert not set(changed) & set(source.descriptions)


def test_measurements_within_their_range_are_not_fetched(folder, tmp_path):
    connection = connect()
    with open_tables(connection, folder, None) as tables:
        scope = Scope("visit", "visit", (), None, None)
        for table, columns in scope.columns(["measurement"]).items():
            tables.require(table, columns)
        tables.fetch(Queries(scope, tables.dialect).records("measurement"), "fetched")
    rows = connection.execute("SELECT outside FROM fetched ORDER BY ALL").fetchall()
    assert rows == [("HIGH",), ("HIGH",), ("LOW",), (None,), (None,)]


def test_without_a_hierarchy_drugs_are_as_recorded(folder):
    (folder / "concept_ancestor.csv").unlink()
    drugs = [name for _, name in found(read_omop(folder, kinds=["medications"]))]
    assert drugs == ["MED:20", "MED:30", "MED:40"]


def test_tables_of_other_kinds_are_not_read(folder):
    for name in (*tables_needed(KINDS), "concept_ancestor"):
        (folder / f"{name}.csv").unlink()
    assert found(read_omop(folder)) == []
    with pytest.raises(InvalidInputError, match=r"has no measurement\.parquet"):
        read_omop(folder, kinds=["measurements"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.default])
def test_a_table_without_a_needed_column_is_refused(folder, kind):
    (table,) = tables_needed([kind])
    (folder / f"{table}.csv").write_text("visit_occurrence_id\n11\n")
    with pytest.raises(InvalidInputError, match="lacks the column"):
        read_omop(folder, kinds=[kind.name])


def test_synthea_has_procedures_observations_and_drugs(real_data, tmp_path):
    names = [*TABLES, *tables_needed(KINDS), "concept_ancestor"]
    with zipfile.ZipFile(real_data("omop-synthea27nj/Synthea27Nj_5.4.zip")) as archive:
        for table in names:
            archive.extract(f"{table.upper()}.csv", tmp_path)
    source = read_omop(tmp_path, codes="standard", visit_concepts=(), kinds=ALL)
    counts = dict(source.query("SELECT role, count(DISTINCT code) FROM codes GROUP BY role"))
    assert counts == {"diagnosis": 70, "medication": 79, "observation": 75, "procedure": 53}
    raw = pd.read_csv(tmp_path / "PROCEDURE_OCCURRENCE.csv")
    pairs = raw[["visit_occurrence_id", "procedure_concept_id"]].drop_duplicates()
    recorded = source.query("SELECT count(*) FROM codes WHERE role = 'procedure'")
    assert recorded == [(len(pairs),)]
