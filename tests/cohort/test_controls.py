import pytest

from relprev.codes import CodeSet
from relprev.cohort import CohortSpec, Controls, GroupVariable, control_set, control_set_names
from relprev.cohort.controls import control_codes
from relprev.errors import DataWarning, InvalidInputError

CONDITION = CodeSet.of("it", ["ICD10:N80*"])
CODES = [("ICD10", "S720", "diagnosis"), ("ICD10", "K35", "diagnosis"), ("ICD10", "N801", "cause")]


def found(**conditions):
    controls = Controls(conditions={name: (code,) for name, code in conditions.items()})
    spec = CohortSpec(CONDITION, (GroupVariable("ward"),), controls=controls)
    return control_codes(spec, CODES, CONDITION, {})


def test_every_code_has_the_bits_of_its_controls():
    names, bits = found(hip="ICD10:S72*", bowel="ICD10:K35*", both="ICD10:/S72.|K35/")
    assert names == ("hip", "bowel", "both")
    assert bits.tolist() == [0b101, 0b110, 0b000]


def test_a_control_of_the_study_that_cannot_serve_is_refused():
    with pytest.raises(InvalidInputError, match=r"'mine' has codes of the condition .ICD10:N801"):
        found(mine="ICD10:N8*")
    with pytest.raises(InvalidInputError, match="'mine' has no codes in the data"):
        found(mine="ICD10:Z99*")


def test_shipped_controls_that_cannot_serve_are_left_out_with_a_word():
    spec = CohortSpec(CONDITION, (GroupVariable("ward"),), controls=Controls(("inpatient",)))
    with pytest.warns(DataWarning, match="control conditions not used"):
        names, bits = control_codes(spec, CODES, CONDITION, {})
    assert "hip fracture" in names
    assert len(names) < len(control_set("inpatient"))
    assert (bits[0] >> names.index("hip fracture")) & 1 == 1


def test_what_does_not_exist_is_refused():
    with pytest.raises(InvalidInputError, match="no set of controls 'outpatient'; did you mean"):
        control_set("outpatient")
    with pytest.raises(InvalidInputError, match=r"leave_out has 'hip fractur', .*'hip fracture'"):
        Controls(("inpatient",), leave_out=("hip fractur",))
    with pytest.raises(InvalidInputError, match="at most 64 conditions are possible, got 65"):
        Controls(conditions={f"c{k}": (f"ICD10:A{k:02}",) for k in range(65)})


@pytest.mark.parametrize("name", control_set_names())
def test_every_shipped_control_says_why_it_is_hardly_ever_missed(name):
    for codes in control_set(name).values():
        assert len(codes.source) > 20
