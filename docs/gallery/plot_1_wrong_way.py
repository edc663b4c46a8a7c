"""
When the records point the wrong way
====================================

The condition is more common in Group A than elsewhere, but its cases are rarely recorded, so the
records say the opposite. Comparing patients with the same symptoms corrects this.
"""

import textwrap

import matplotlib.pyplot as plt

from relprev import DebiasedPURPLE
from relprev.report import plot_forest
from relprev.simulate import ed_visits

visits = ed_visits(60_000, n_codes=100, seed=4)
fitted = DebiasedPURPLE().fit(visits.cohort)
result = fitted.relative_prevalence()

# %%
# The figure shows recorded ratios, corrected ratios with 95% intervals, and the true ratios, which
# we know because the data are simulated.
truth = visits.relative_prevalence().to_frame()["estimate"]
_, ax = plt.subplots(figsize=(8, 4), layout="constrained")
plot_forest(result.to_frame(), truth, ax)
plt.show()

# %%
# The same in words:
for sentence in result.sentences:
    print(textwrap.fill(sentence, 90), end="\n\n")
