"""What help texts list and options allow, known without loading what it belongs to.

A test holds every value to the one where it is used.
"""

SOURCES = ("mimic-iv", "neds", "nhamcs", "nhanes", "nhds", "omop", "meds", "tables", "simulated")
EXPERIMENTS = (
    "gauss", "group-gap", "alpha", "false-positives", "selective-diagnosis", "semisynthetic",
)  # fmt: skip
TRUTH = ("nhanes", "species")  # experiments on real data, which they need
LAYOUTS = ("1.0", "2.2")  # of MIMIC-IV
DEMO_VISITS, MOST_VISITS = 100_000, 100_000_000
