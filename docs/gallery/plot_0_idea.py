"""
The idea in one picture
=======================

Patients with the same symptoms have the same risk, whatever their group. If at every level of risk
the share recorded in one group is the same multiple of the share recorded in another, that multiple
is the diagnosis-rate ratio. Dividing the recorded ratio by it leaves the ratio of the true rates.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from relprev.simulate import ed_visits

rates = {"Group A": 0.2, "Group B": 0.5}
visits = ed_visits(400_000, n_codes=200, diagnosis_rates=rates, prevalence=0.1, shift=2.0, seed=0)
cohort, risk = visits.cohort, visits.condition_probability

# %%
# Left: the share recorded in each of ten risk classes. On log scales the two groups run parallel,
# 0.2 / 0.5 = 0.4 apart at every level of risk. Right: more of Group A's visits are at high risk, so
# the condition is more common in Group A, although fewer of its visits are recorded.
edges = np.quantile(risk, np.linspace(0, 1, 11))
classes = np.clip(np.searchsorted(edges, risk, side="right") - 1, 0, 9)
_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for number, (name, rate) in enumerate(rates.items()):
    mine = cohort.groups == number
    x = [risk[mine & (classes == k)].mean() for k in range(10)]
    y = [cohort.diagnosed[mine & (classes == k)].mean() for k in range(10)]
    left.loglog(x, y, "os"[number], label=f"{name}: {rate:.0%} of cases recorded")
    left.loglog(x, rate * np.array(x), color="0.6", linewidth=1, zorder=0)
    share = np.bincount(classes[mine], minlength=10) / mine.sum()
    right.bar(np.arange(1, 11) + 0.4 * number - 0.2, share, width=0.4, label=name)
left.set(xlabel="risk at these symptoms", ylabel="share of visits recorded")
left.xaxis.set_major_formatter(PercentFormatter(1))
left.yaxis.set_major_formatter(PercentFormatter(1, decimals=1))
left.legend(frameon=False, fontsize=8)
right.yaxis.set_major_formatter(PercentFormatter(1))
right.set(
    xticks=range(1, 11), xlabel="risk class, low to high", ylabel="share of the group's visits"
)
right.legend(frameon=False, fontsize=8)
plt.show()

# %%
# In numbers, with the truth that we know because the data are simulated:
table = visits.relative_prevalence("Group B").to_frame().iloc[0]
print(f"recorded ratio         {table['observed_ratio']:.2f}")
print(f"diagnosis-rate ratio   {table['diagnosis_ratio']:.2f}")
print(f"true ratio             {table['estimate']:.2f}  = recorded / diagnosis-rate ratio")
