"""What a study returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relprev.errors import InvalidInputError
from relprev.report import StudyReport


@dataclass(frozen=True, repr=False)
class StudyResult:
    """The findings of a study and where they were written.

    Parameters
    ----------
    report : StudyReport
        Findings, small counts hidden by the study's rule.
    folder : Path or None
        Results folder.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from relprev.study.demo import demo_study
    >>> from relprev.study import CheckOptions, EstimateOptions
    >>> small = replace(demo_study(5_000), estimate=EstimateOptions(methods=("purple",)),
    ...                 checks=CheckOptions(run=()))
    >>> result = small.run(verbose=False)
    >>> result
    <StudyResult 'Demonstration: a simulated condition': group>
    >>> result.table("group", method="purple")["group"].tolist()
    ['Group A', 'Group B', 'Group C', 'Group D']
    """

    report: StudyReport
    folder: Path | None = None

    def table(self, variable: str, method: str | None = None) -> pd.DataFrame:
        """Relative prevalences of a group variable, by the first method or a given one.

        Parameters
        ----------
        variable : str
            Name of a group variable.
        method : str, optional
            ``"debiased"`` or ``"purple"``. Default: the first of the study's.

        Returns
        -------
        pandas.DataFrame
            One row per contrast; hidden numbers are missing.
        """
        found = {item.name: item for item in self.report.variables}
        if variable not in found:
            raise InvalidInputError(f"variable={variable!r}: the study has {list(found)}")
        estimates = found[variable].estimates
        method = next(iter(estimates)) if method is None else method
        if method not in estimates:
            raise InvalidInputError(f"method={method!r}: the study has {list(estimates)}")
        return estimates[method].copy()

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        where = f", written to {self.folder}" if self.folder else ""
        names = ", ".join(item.name for item in self.report.variables)
        return f"<StudyResult {self.report.title!r}: {names}{where}>"
