"""Columns of NHAMCS files that hold symptoms and findings, with what their codes mean.

Names are those of the Stata and SAS files. For the fixed-width file of 2010 positions are from
NCHS's documentation of that file.
"""

from __future__ import annotations

MOST_REASONS, MOST_DRUGS = 5, 30
NO_REASON = (89970, 89980, 89990)  # "none", inadequate, illegible
NUMBERS = {  # columns of measures, with what turns their unit into that of the measure
    "temperature": ("TEMPF", 0.1), "heart_rate": ("PULSE", 1), "respiratory_rate": ("RESPR", 1),
    "systolic_pressure": ("BPSYS", 1), "diastolic_pressure": ("BPDIAS", 1),
    "oxygen_saturation": ("POPCT", 1),
}  # fmt: skip
PAIN_COLUMNS = ("PAINSCALE", "PAIN")  # PAIN in 2009 to 2011
TRIAGE = {
    "1": "Triage: immediate", "2": "Triage: emergent", "3": "Triage: urgent",
    "4": "Triage: semi-urgent", "5": "Triage: nonurgent",
}  # fmt: skip
ONLY_2010 = ("INTENT",)  # other years code it otherwise; INTENT15 from 2015 on
# (column, value): code and description
INJURIES = {
    ("INJURY", 1): ("ANY", "Injury, poisoning or adverse effect"),
    ("INJPOISAD", 1): ("TRAUMA", "Injury or trauma"),
    ("INJPOISAD", 2): ("POISONING", "Overdose or poisoning"),
    ("INJPOISAD", 3): ("ADVERSE", "Adverse effect of treatment"),
    ("INJURY72", 1): ("RECENT", "Injury within 72 hours"),
    ("INTENT15", 1): ("INTENTIONAL", "Intentional injury"),
    ("INTENT15", 2): ("UNINTENTIONAL", "Unintentional injury"),
    ("INTENT", 1): ("SELF", "Self-inflicted injury"),
    ("INTENT", 2): ("ASSAULT", "Assault"),
    ("INTENT", 3): ("UNINTENTIONAL", "Unintentional injury"),
}
ARRIVALS = {
    ("ARREMS", 1): ("AMBULANCE", "Arrival by ambulance"),
    ("AMBTRANSFER", 1): ("TRANSFER", "Transferred from another facility"),
    ("RESIDNCE", 2): ("NURSING_HOME", "Lives in a nursing home"),
    ("RESIDNCE", 3): ("HOMELESS", "Homeless"),
    ("SEEN72", 1): ("SEEN72", "Seen here within 72 hours"),
    ("EPISODE", 2): ("FOLLOW_UP", "Follow-up visit"),
}
TESTS = {
    "ABG": "Arterial blood gases", "BAC": "Blood alcohol", "BMP": "Basic metabolic panel",
    "BNP": "Brain natriuretic peptide", "BUNCREAT": "Renal function panel",
    "CARDENZ": "Cardiac enzymes", "CBC": "Complete blood count",
    "CMP": "Comprehensive metabolic panel", "BLOODCX": "Blood culture",
    "TRTCX": "Throat culture", "URINECX": "Urine culture", "WOUNDCX": "Wound culture",
    "OTHCX": "Other culture", "DDIMER": "D-dimer", "ELECTROL": "Electrolytes",
    "GLUCOSE": "Glucose", "LACTATE": "Lactate", "LFT": "Liver function tests",
    "PTTINR": "Prothrombin time", "OTHERBLD": "Other blood test",
    "CARDMON": "Cardiac monitor", "EKG": "Electrocardiogram", "HIVTEST": "HIV test",
    "FLUTEST": "Influenza test", "PREGTEST": "Pregnancy test", "TOXSCREN": "Toxicology screen",
    "URINE": "Urinalysis", "OTHRTEST": "Other test", "XRAY": "X-ray", "CATSCAN": "CT scan",
    "CTHEAD": "CT scan of the head", "CTAB": "CT scan of abdomen or pelvis",
    "CTCHEST": "CT scan of the chest", "MRI": "MRI", "ULTRASND": "Ultrasound",
    "OTHIMAGE": "Other imaging",
}  # fmt: skip
PROCEDURES = {
    "BPAP": "BiPAP or CPAP", "BLADCATH": "Bladder catheter", "CASTSPLINT": "Cast, splint or wrap",
    "CAST": "Cast", "SPLINT": "Splint or wrap", "CENTLINE": "Central line", "CPR": "CPR",
    "ENDOINT": "Endotracheal intubation", "FBREM": "Foreign body removal",
    "INCDRAIN": "Incision and drainage", "IVFLUIDS": "Intravenous fluids",
    "LUMBAR": "Lumbar puncture", "NEBUTHER": "Nebulizer therapy", "PELVIC": "Pelvic exam",
    "SKINADH": "Skin adhesives", "SUTURE": "Suturing or staples", "OTHPROC": "Other procedure",
}  # fmt: skip
REASONS = tuple(f"RFV{k}" for k in range(1, MOST_REASONS + 1))
DRUGS = tuple(f"DRUGID{k}" for k in range(1, MOST_DRUGS + 1))
DRUG_ENTRIES = tuple(f"MED{k}" for k in range(1, MOST_DRUGS + 1))
COLUMNS = {
    "reasons": REASONS,
    "injuries": tuple(dict.fromkeys(column for column, _ in INJURIES)),
    "vitals": tuple(column for column, _ in NUMBERS.values()),
    "pain": PAIN_COLUMNS,
    "triage": ("IMMEDR",),
    "arrival": tuple(dict.fromkeys(column for column, _ in ARRIVALS)),
    "tests": tuple(TESTS),
    "procedures": tuple(PROCEDURES),
    "medications": (*DRUGS, *DRUG_ENTRIES),
}
TESTS_2010 = (
    "CBC", "BUNCREAT", "CARDENZ", "ELECTROL", "GLUCOSE", "LFT", "ABG", "PTTINR", "BLOODCX", "BAC",
    "OTHERBLD", "CARDMON", "EKG", "HIVTEST", "FLUTEST", "PREGTEST", "TOXSCREN", "URINE",
    "WOUNDCX", "OTHRTEST", "ANYIMAGE", "XRAY", "CATSCAN", "CTHEAD", "CTNHEAD", "CTNUNK", "MRI",
    "ULTRASND", "OTHIMAGE",
)  # fmt: skip
PROCEDURES_2010 = (
    "IVFLUIDS", "CAST", "SPLINT", "SUTURE", "INCDRAIN", "FBREM", "NEBUTHER", "BLADCATH", "PELVIC",
    "CENTLINE", "CPR", "ENDOINT", "OTHPROC",
)  # fmt: skip
FIELDS_2010 = (
    ("RESIDNCE", 19, 20), ("ARREMS", 26, 27), ("TEMPF", 38, 41), ("PULSE", 42, 44),
    ("RESPR", 45, 47), ("BPSYS", 48, 50), ("BPDIAS", 51, 53), ("POPCT", 54, 56),
    ("IMMEDR", 61, 62), ("PAIN", 63, 64), ("SEEN72", 65, 66), ("RFV1", 71, 75), ("RFV2", 76, 80),
    ("RFV3", 81, 85), ("EPISODE", 86, 87), ("INJURY", 88, 88), ("INTENT", 89, 90),
    *((name, 131 + k, 131 + k) for k, name in enumerate(TESTS_2010)),
    *((name, 163 + k, 163 + k) for k, name in enumerate(PROCEDURES_2010)),
    *((f"MED{k}", 174 + 5 * k, 178 + 5 * k) for k in range(1, 9)),
    *((f"DRUGID{k}", 257 + 57 * k, 262 + 57 * k) for k in range(1, 9)),
)  # fmt: skip
