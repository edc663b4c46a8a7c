"""Keys of stages: digests of everything that a stage depends on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from relprev.store.digests import digest, files_digest
from relprev.store.modules import source_digest
from relprev.store.versions import versions
from relprev.study.study import Study

COHORTS = ("relprev.study.cohorts.building", "relprev.study.file.source")  # that make cohorts
ESTIMATES = ("relprev.study.stages.variable",)
ANALYSES = ("relprev.study.stages.analyses",)
CHECKING = ("relprev.study.stages.checks",)
READ_DATA = ("code_sets", "cohorts", "neds", "nhamcs")  # of relprev/data, for cohorts


def cohort_key(study: Study, verbose: bool = False) -> str:
    """Key of the cohorts: the input files' content, the settings, the code that reads them."""
    source = study.source
    unseen = uuid.uuid4().hex if source.is_database else ""  # read a database every time
    return digest(
        source_digest(*COHORTS, data=READ_DATA), versions(), source.kind, source.arguments,
        study.described()["cohort"], asdict(study.inference), study.estimate.versus,
        study.estimate.reference, files_digest(source.files(), verbose=verbose), unseen,
        asdict(study.compute) if study.compute.out_of_core else None,
    )  # fmt: skip


def estimate_key(study: Study, name: str, cohort: str) -> str:
    """Key of the estimates for a group variable, given the digest of its cohort."""
    return digest(
        source_digest(*ESTIMATES), versions(), cohort, asdict(study.estimate),
        asdict(study.inference), study.seed, name,
    )  # fmt: skip


def analysis_key(estimates: str, settings: Mapping[str, Any]) -> str:
    """Key of an analysis of a group variable, given the key of its estimates."""
    return digest(source_digest(*ANALYSES), estimates, settings)


def check_key(study: Study, estimates: str) -> str:
    """Key of the checks of a group variable, given the key of its estimates."""
    settings = asdict(replace(study.checks, run=()))  # which others are run changes nothing
    return digest(source_digest(*CHECKING), estimates, settings)
