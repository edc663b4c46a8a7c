"""A study of people speaks of people: no output says visit."""

from __future__ import annotations

import re

import pytest

from relprev.study import Study
from tests.cli.commands import invoke
from tests.experiments.truth.people import extract
from tests.study.conftest import TABLES, write_tables
from tests.study.test_run_derived import STUDY as NHANES
from tests.study.test_run_omop import OMOP, omop_folder

READ = (".csv", ".html", ".txt", ".tex", ".log", ".svg")
FILES = ("--format", "svg", "--format", "html", "--format", "latex")
KEYS = re.compile(r"(?s)<pre.*?</pre>|<style.*?</style>|<script.*?</script>")


def nhanes(folder):
    extract(folder)
    return NHANES


def omop(folder):
    omop_folder(folder / "omop")
    few = '[checks]\nrun = ["overlap", "leakage"]\n[estimate]\nmethods = ["debiased"]\n'
    return OMOP.replace("MORE", 'unit = "person"\nstart = 2020-02-01\nend = "2020-12-01"') + few


def tables(folder):
    """One row per person: the column that identifies rows identifies patients."""
    write_tables(folder)
    every = TABLES.replace('run = ["overlap", "leakage"]', "max_visits = 1500")
    return every.replace('patient = "person"', 'patient = "visit"')


def by_person(folder):
    """Visits rolled up to people."""
    write_tables(folder)
    few = TABLES.replace('methods = ["debiased", "purple"]', 'methods = ["debiased"]')
    return few.replace("seed = 1", 'seed = 1\nunit = "person"')


@pytest.mark.parametrize("write", [nhanes, omop, tables, by_person])
def test_no_output_of_a_study_of_people_says_visit(tmp_path, write):
    """But for the settings in the page's manifest, which are those of the study file."""
    file, out = tmp_path / "study.toml", tmp_path / "results"
    file.write_text(write(tmp_path))
    said = {"check": invoke("check", file), "run": invoke("run", file, "--out", out, "-q", *FILES)}
    texts = {name: f"{done.stdout}\n{done.stderr}" for name, done in said.items()}
    texts |= {path.name: path.read_text() for path in out.rglob("*") if path.suffix in READ}
    lines = [
        f"{name}: {line[:150]}"
        for name, text in texts.items()
        for line in KEYS.sub("", text).splitlines()
        if "visit" in line.lower()
    ]
    assert not lines, "\n".join(lines[:10])
    assert "people" in texts["methods.txt"]
    assert "patients" not in texts["attrition.csv"]


def test_a_study_of_visits_speaks_of_visits(tables_study, tmp_path):
    report = Study.from_toml(tables_study).run(verbose=False).report
    assert report.population.startswith("visits")
    assert report.unit.noun == "visit"
