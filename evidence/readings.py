"""What may lie behind the conditions that stand out in the atlases of real data, as we read them.

Three kinds. *Equal risk is broken*: at equal features the condition itself is more common in one
group, for a reason that other diagnoses do not show (anatomy, heredity, exposure). *Recording*: one
group's cases are plausibly looked for, or written down, more often. *Both possible*. Readings are
judgements, made with the results in hand; nothing in the data decides between them.
"""

from __future__ import annotations

BROKEN, RECORDING, BOTH = "equal risk is broken", "recording", "both possible"

READINGS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("nhds", "race", "CCS:61"): (BROKEN, "inherited; hardly missed in an inpatient of any group"),
    ("nhds", "race", "CCS:5"): (BROKEN, "who was exposed is not told by the other diagnoses"),
    ("nhds", "race", "CCS:2605"): (
        BROKEN, "who is shot at is not told by the other diagnoses; codes of causes are optional"),
    ("nhds", "race", "CCS:170"): (
        BOTH, "mostly recorded when operated on: who seeks and is offered an operation counts"),
    ("nhds", "race", "CCS:79"): (BOTH, "a diagnosis of specialists, made late where care is far"),
    ("nhds", "sex", "CCS:24"): (BROKEN, "anatomy and hormones"),
    ("nhds", "sex", "CCS:206"): (
        BOTH, "more common in women, and men are seldom tested for it"),
    ("nhds", "sex", "CCS:210"): (BROKEN, "a disease of women, for reasons other codes do not show"),
    ("nhds", "sex", "CCS:167"): (BROKEN, "anatomy"),
    ("nhds", "sex", "CCS:32"): (BROKEN, "tobacco and work, of which discharges record little"),
    ("nhds", "sex", "CCS:11"): (BROKEN, "tobacco and alcohol, of which discharges record little"),
    ("nhds", "sex", "CCS:48"): (BOTH, "more common in women, who are also tested more often"),
    ("nhds", "sex", "CCS:84"): (BOTH, "more common in women; in men a secondary headache is noted "
                                      "less often"),
    ("nhds", "sex", "CCS:12"): (BROKEN, "tobacco and alcohol, of which discharges record little"),
    ("nhds", "sex", "CCS:660"): (BOTH, "drinking differs, and so does who is asked about it"),
    ("nhamcs", "sex", "ICD10:R33"): (BROKEN, "anatomy: the prostate"),
    ("nhamcs", "race", "ICD10:F14"): (BOTH, "use differs between places; who is tested and whose "
                                            "use is written down differs too"),
    ("nhamcs", "race", "ICD10:N20"): (BROKEN, "stones are rarer; seen on a scan, if one is made"),
    ("nhamcs", "sex", "ICD10:F10"): (BOTH, "drinking differs, and so does who is asked about it"),
    ("nhamcs", "sex", "ICD10:N39"): (BROKEN, "anatomy: mostly urinary infections"),
}  # fmt: skip
