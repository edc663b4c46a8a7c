"""
How wrong would the assumptions have to be?
===========================================

`relprev.checks.check_sensitivity` lets each assumption fail by a range of amounts. It shows what
happens to the estimate, and at which point the interval reaches 1.
"""

import textwrap

import matplotlib.pyplot as plt

from relprev import DebiasedPURPLE
from relprev.checks import check_sensitivity
from relprev.report import plot_check
from relprev.simulate import ed_visits

visits = ed_visits(60_000, n_codes=100, seed=4)
fitted = DebiasedPURPLE().fit(visits.cohort)
result = check_sensitivity(fitted, "Group A", "Group B")
print(textwrap.fill(str(result.effect), 80))

# %%
# The bands, drawn as in the report. The grey line marks 1, where the condition is equally common:
_, ax = plt.subplots(figsize=(8, 7), layout="constrained")
plot_check(result, ax)
plt.show()
