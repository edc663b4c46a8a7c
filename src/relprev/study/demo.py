"""The demonstration: a study of simulated visits whose recorded ratios point the wrong way."""

from __future__ import annotations

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Features, GroupVariable, Include
from relprev.study import ReportOptions, SourceOptions, Study
from relprev.study.file.simulated import CONDITION, VERSION

VISITS = 100_000
CODES = 500


def demo_study(visits: int = VISITS, seed: int = 4) -> Study:
    """A study of simulated emergency-department visits.

    Examples
    --------
    >>> demo_study(20_000).source.kind
    'simulated'
    """
    source = {"visits": visits, "codes": CODES, "prevalence": 0.06, "seed": seed}
    cohort = CohortSpec(
        CodeSet.of("simulated condition", [f"{VERSION}:{CONDITION}"]),
        (GroupVariable("group"),),
        (Include("age", minimum=18),),
        Features(min_count=10),
        name="demo",
    )
    report = ReportOptions(
        title="Demonstration: a simulated condition",
        condition="the simulated condition",
        population="simulated visits of adults to emergency departments",
    )
    return Study(SourceOptions("simulated", source), cohort, report=report, name="demo")
