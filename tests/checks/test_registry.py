"""Every check is declared once, and completely."""

import ast
import inspect
import json
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from relprev import PURPLE, DebiasedPURPLE, as_cohort, checks
from relprev.checks.check import CheckResult, Verdict
from relprev.checks.inputs import CheckInputs
from relprev.checks.registry import CHECKS
from relprev.disclosure.columns import Column
from relprev.report.sentences.methods import REFERENCES
from relprev.simulate import ed_visits
from tests.checks.conftest import FAST

KINDS = list(CHECKS)
FILES = [file for file in Path(checks.__file__).parent.glob("*.py") if file.stem != "__init__"]


@pytest.fixture(scope="module")
def inputs():
    plain = ed_visits(6_000, n_codes=50, prevalence=0.3, seed=3).cohort
    recorded = np.random.default_rng(1).random((6, plain.n)) < 0.1
    cohort = as_cohort(
        plain.X, plain.diagnosed, groups=plain.group_labels, clusters=plain.clusters,
        feature_names=plain.feature_names, controls=dict(zip("abcdef", recorded, strict=True)),
    )  # fmt: skip
    purple = PURPLE(lambdas=1e-4).fit(cohort)
    debiased = DebiasedPURPLE(**FAST).fit(cohort)
    blocks = {"some": list(cohort.feature_names[:10]), "others": list(cohort.feature_names[10:20])}
    return CheckInputs(
        cohort, lambda: purple, lambda: debiased, reference="Group B", max_visits=6_000,
        blocks=blocks,
    )  # fmt: skip


@pytest.fixture(scope="module")
def results(inputs):
    """Of every check."""
    return {kind: CHECKS[kind].results(inputs) for kind in KINDS}


@pytest.fixture
def ax():
    with mpl.rc_context():
        figure, ax = plt.subplots()
        yield ax
        plt.close(figure)


def test_every_file_that_declares_a_check_is_registered():
    declared = {file.stem for file in FILES if "\nCHECK = Check(" in file.read_text()}
    assert declared == set(CHECKS)
    assert all(kind == check.kind for kind, check in CHECKS.items())


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_of_its_name_is_public_and_documented(kind):
    name = f"check_{kind}"
    assert name in checks.__all__
    assert inspect.getdoc(getattr(checks, name))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_explained_and_its_works_can_be_cited(kind):
    check = CHECKS[kind]
    assert check.title
    assert check.explained.endswith(".")
    assert set(check.references) <= set(REFERENCES)
    assert set(check.needs) <= {"purple", "debiased"}


@pytest.mark.parametrize("kind", KINDS)
def test_all_columns_of_its_table_are_declared(kind, results):
    for found in results[kind]:
        assert set(found.table) == set(CHECKS[kind].table)
        assert all(isinstance(column, Column) for column in CHECKS[kind].table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_columns_people_read_are_there(kind, results):
    check = CHECKS[kind]
    read = {*check.columns, *((check.interval, "ci_low", "ci_high") if check.interval else ())}
    assert check.columns
    for found in results[kind]:
        assert read <= set(found.table)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_of_its_kind_and_speak(kind, results):
    assert results[kind]
    for found in results[kind]:
        assert found.kind == kind
        assert CHECKS[kind].title in found.name
        assert str(found.effect).endswith(".")


@pytest.mark.parametrize("kind", KINDS)
def test_results_survive_json(kind, results):
    for found in results[kind]:
        plain = json.loads(json.dumps(found.plain(), allow_nan=False))
        back = CheckResult.from_plain(plain, found.table)
        assert back.plain() == found.plain()
        assert str(back) == str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_its_table_is_drawn(kind, results, ax):
    CHECKS[kind].draw(ax, results[kind][0].table)
    assert ax.has_data()
    assert ax.get_xlabel() or ax.get_ylabel()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_which_little_is_shown_is_drawn_as_far_as_it_goes(kind, results, ax):
    table, declared = results[kind][0].table, CHECKS[kind].table
    kept = (Column.NAME, Column.FREE)
    hidden = {name: pd.NA for name in table if declared[name] not in kept}
    bare = table.assign(**hidden).astype(dict.fromkeys(hidden, "Float64"))
    CHECKS[kind].draw(ax, bare)
    assert ax.has_data() == (kind not in ("leakage", "calibration"))


@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_no_estimator_that_it_does_not_name(kind, inputs):
    needs = CHECKS[kind].needs
    without = {f"fit_{name}": pytest.fail for name in ("purple", "debiased") if name not in needs}
    assert CHECKS[kind].results(replace(inputs, **without))


@pytest.mark.parametrize("kind", KINDS)
def test_checks_that_fit_again_use_a_sample_and_say_so(kind, inputs):
    said = "Based on a random sample of"
    for found in CHECKS[kind].results(replace(inputs, max_visits=3_000)):
        assert (said in str(found.effect)) == CHECKS[kind].refits
        if CHECKS[kind].refits:
            assert str(found.effect).endswith("out of 6,000 visits.")


def test_sensitivity_answers_the_comparisons_of_the_table(inputs):
    run = CHECKS["sensitivity"].results
    for versus, words in (("complement", "everyone else"), ("Group C", "Group C")):
        rows = inputs.debiased.relative_prevalence(versus).rows
        found = [one.name for one in run(replace(inputs, versus=versus))]
        assert found == [f"Sensitivity of {row['group']} versus {words}" for row in rows]


def test_informativeness_comes_first():
    assert KINDS[0] == "informativeness"
    assert [kind for kind in KINDS if not CHECKS[kind].assumption] == [
        "sensitivity", "benchmarks", "bias_analysis"
    ]  # fmt: skip


def test_margin_reaches_every_check_that_has_one(inputs):
    """With a huge margin nothing that can be estimated is beyond it."""
    wide = replace(inputs, margin=1e6)
    for kind in ("constant_ratio", "calibration", "unconstrained", "agreement"):
        assert {found.verdict for found in CHECKS[kind].results(wide)} == {Verdict.NO_CONCERN}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_only_drawing_loads_matplotlib(file):
    for node in ast.parse(file.read_text()).body:  # not within functions or `if TYPE_CHECKING`
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", "") or "", *(alias.name for alias in node.names)]
            assert not any(name.startswith("matplotlib") for name in names)
