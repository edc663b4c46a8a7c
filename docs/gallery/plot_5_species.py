"""
Beyond health: species that nobody recorded
===========================================

A record of a species is a diagnosis: where nobody looks, a species that is there is not on record.
If one part of a country is searched more than the other, records mislead about where the species is
more common. Environment takes the place of symptoms, and surveyed sites that of visits.

Here the truth is simulated; :doc:`../evidence/species` has the same comparison for real species and
surveys that found the truth, failures included.
"""

import matplotlib.pyplot as plt
import numpy as np

from relprev import DebiasedPURPLE, as_cohort

rng = np.random.default_rng(1)
n = 12_000
east = rng.random(n) < 0.5
rain = rng.normal(np.where(east, 0.4, -0.4), 1.0)
warmth = rng.normal(0.0, 1.0, n)

# %%
# The species likes rain and warmth, whichever part it is in. The west is searched three times as
# much as the east:
lives = rng.random(n) < 1 / (1 + np.exp(2.0 - 1.2 * rain - 0.8 * warmth))
recorded = lives & (rng.random(n) < np.where(east, 0.15, 0.45))

# %%
# Sites are rows, records are diagnoses, and the environment, cut into ten parts each, is what the
# correction rests on:
bins = [np.digitize(values, np.quantile(values, np.linspace(0.1, 0.9, 9)))
        for values in (rain, warmth)]  # fmt: skip
X = np.column_stack([place == k for place in bins for k in range(1, 10)]).astype(float)
cohort = as_cohort(X, recorded, groups=np.where(east, "East", "West"))
row = DebiasedPURPLE().fit(cohort).relative_prevalence("West").to_frame().iloc[0]
truth = lives[east].mean() / lives[~east].mean()
print(f"recorded {row['observed_ratio']:.2f}, corrected {row['estimate']:.2f} "
      f"({row['ci_low']:.2f} to {row['ci_high']:.2f}), truth {truth:.2f}")  # fmt: skip

# %%
# The records say that the species is rarer in the east; it is more common there.
figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
error = [[row["estimate"] - row["ci_low"]], [row["ci_high"] - row["estimate"]]]
ax.errorbar([row["estimate"]], [1], xerr=error, fmt="o", color="#332288")
ax.plot([row["observed_ratio"]], [0], "x", color="#888888")
ax.axvline(truth, color="#117733", label="truth")
ax.axvline(1, color="0.8", zorder=0)
ax.set_yticks([0, 1], ["records", "corrected"])
ax.set(xscale="log", ylim=(-0.7, 1.7), xlabel="occurrence in the east over that in the west")
ax.set_xticks([0.5, 1, 2], ["0.5", "1", "2"])
ax.legend(frameon=False)
plt.show()

# %%
# With your own table of sites and records, one row each, as a study file:
#
# .. code-block:: toml
#
#     condition = {name = "the species", codes = ["IS:recorded"]}
#     without_codes = "keep"
#
#     [source]
#     kind = "tables"
#     visits = "sites.csv"
#     visit_id = "site"
#     attributes = ["records", "part", "rain", "warmth"]
#
#     [derive]
#     recorded = "records > 0"
#
#     [[features.extra]]
#     column = "rain"
#     edges = [600, 800, 1000, 1200, 1500]
#
#     [[features.extra]]
#     column = "warmth"
#     edges = [4, 6, 8, 10]
#
#     [[groups]]
#     column = "part"
