"""Write dummy data that fit a study file, to write and test a study where its data are not.

The files have the names, formats and columns that the study's ``[source]`` asks for. What they
say is made up (`relprev.simulate.dummy`): results of dummy data mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relprev.cohort import CohortSpec
from relprev.errors import InvalidInputError
from relprev.simulate.dummy_meds import write_dummy_meds
from relprev.simulate.dummy_neds import write_dummy_neds
from relprev.simulate.dummy_omop import write_dummy_omop
from relprev.simulate.dummy_tables import write_dummy_tables
from relprev.simulate.places import Places


def write_like(
    spec: CohortSpec,
    kind: str,
    arguments: Mapping[str, Any],
    folder: str | Path,
    n_visits: int = 5_000,
    *,
    base: str | Path = ".",
    seed: int = 0,
) -> list[Path]:
    """Write dummy data for a study.

    Parameters
    ----------
    spec : CohortSpec
        Its condition, rules and groups.
    kind : str
        Kind of its source: tables, meds, omop or neds.
    arguments : mapping
        Arguments of its source, as they stand in the study file.
    folder : str or Path
        Where the files are written, under the names that the arguments have.
    n_visits : int
        Number of visits.
    base : str or Path
        Folder of the study file, where relative paths start. Concept sets and layouts are copied.
    seed : int
        The same seed writes the same files.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from relprev.cohort import cohort_spec
    >>> names = {"visits": "visits.csv", "visit_id": "id", "code": ["dx1", "dx2"], "sex": "sex",
    ...          "version": "ICD10", "age": "age", "attributes": ["race"]}
    >>> spec = cohort_spec("ipv-mimic")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file] = write_like(spec, "tables", names, folder, 1_000)
    ...     file.name, file.read_text().splitlines()[0]
    ('visits.csv', 'id,age,sex,race,insurance,marital_status,dx1,dx2')
    """
    writers = {
        "tables": write_dummy_tables, "meds": write_dummy_meds, "omop": write_dummy_omop,
        "neds": write_dummy_neds,
    }  # fmt: skip
    if kind not in writers:
        instead = {"mimic-iv": "'relprev simulate mimic' writes files of that format"}
        raise InvalidInputError(
            f"dummy data can be written for {', '.join(writers)}, not for {kind}; "
            f"{instead.get(kind, 'its data are public')}"
        )
    places = Places(Path(base), Path(folder))
    return writers[kind](spec, arguments, places, n_visits, seed)
