from __future__ import annotations

import zipfile

import duckdb
import pandas as pd
import pytest

from relprev.errors import InvalidInputError
from relprev.sources import read_omop
from relprev.sources.omop_features import KINDS, MAY_LACK, tables_needed
from relprev.sources.omop_tables import TABLES

ALL = [kind.name for kind in KINDS]
TEXTS = {
    "person": "person_id,gender_concept_id,year_of_birth,month_of_birth,day_of_birth,"
              "race_concept_id,ethnicity_concept_id\n1,8532,1980,6,15,8527,0\n",
    "visit_occurrence": "visit_occurrence_id,person_id,visit_concept_id,visit_start_date\n"
                        "11,1,9203,2020-06-14\n12,1,9203,2020-06-16\n",
    "condition_occurrence": "visit_occurrence_id,condition_concept_id,condition_source_value,"
                            "condition_source_concept_id\n11,500,T74.11XA,600\n",
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
                        "30,30,0,0\n31,30,1,1\n31,31,0,0\n",
    "measurement": "visit_occurrence_id,measurement_concept_id,value_as_number,"
                   "value_as_concept_id,range_low,range_high\n"
                   "11,1,200,0,70,110\n11,1,60,0,70,110\n11,1,90,0,70,110\n11,1,500,0,,\n"
                   "12,1,,3,,\n12,2,,4,,\n,1,200,0,70,110\n12,0,200,0,70,110\n",
    "observation": "visit_occurrence_id,observation_concept_id,value_as_concept_id,"
                   "value_as_string\n"
                   "11,5,6,secret\n12,5,0,secret\n12,0,0,secret\n",
    "procedure_occurrence": "visit_occurrence_id,procedure_concept_id\n11,7\n11,7\n99,7\n12,\n",
    "drug_exposure": "visit_occurrence_id,drug_concept_id\n11,20\n11,30\n12,40\n12,0\n",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


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


def test_every_kind_by_hand(folder):
    source = read_omop(folder, kinds=ALL)
    assert found(source) == EXPECTED
    words = source.descriptions
    assert words["LAB:1_HIGH"] == "Glucose, above its range"
    assert words["LAB:2_POSITIVE"] == "HIV test, positive"
    assert words["OBS:5=6"] == "Smoking status: Former smoker"
    assert words["MED:N02B"] == "Other analgesics"
    assert words["MED:31"] == "ibuprofen"
    assert not any("secret" in text for text in words.values())


def test_a_duckdb_database_gives_the_same(folder):
    path = folder / "omop.duckdb"
    with duckdb.connect(str(path)) as database:
        for name in TEXTS:
            frame = pd.read_csv(folder / f"{name}.csv")
            database.register("frame", frame)
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
            database.unregister("frame")
    assert found(read_omop(path, kinds=ALL)) == EXPECTED


def test_without_a_hierarchy_drugs_are_as_recorded(folder):
    (folder / "concept_ancestor.csv").unlink()
    drugs = [name for _, name in found(read_omop(folder, kinds=["medications"]))]
    assert drugs == ["MED:20", "MED:30", "MED:40"]


def test_tables_of_other_kinds_are_not_read(folder):
    for name in set(TEXTS) - set(TABLES):
        (folder / f"{name}.csv").unlink()
    assert found(read_omop(folder)) == []
    with pytest.raises(InvalidInputError, match=r"has no measurement\.parquet"):
        read_omop(folder, kinds=["measurements"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.default])
def test_a_table_without_a_needed_column_is_refused(folder, kind):
    (table,) = set(tables_needed([kind])) - set(MAY_LACK)
    (folder / f"{table}.csv").write_text("visit_occurrence_id\n11\n")
    with pytest.raises(InvalidInputError, match="lacks the column"):
        read_omop(folder, kinds=[kind.name])


def test_synthea_has_procedures_observations_and_drugs(real_data, tmp_path):
    names = [*TABLES, *tables_needed(KINDS)]
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
