"""
Every condition at once
=======================

An atlas asks of every condition whether groups are recorded at different rates. Here 60 conditions
are simulated, of which the first four really are, by a factor of 3. All of them break the
assumption of equal risk at equal symptoms a little, each by a factor of its own.
"""

import matplotlib.pyplot as plt
import numpy as np

from relprev import scan_conditions
from relprev.simulate import visits_with_conditions

world = visits_with_conditions(
    15_000, n_conditions=60, n_codes=60, n_blocks=4, factors=[3.0] * 4, spread=0.15, seed=2
)
atlas = scan_conditions(world.cohort, conditions=["CONDITION*"], versus="Group B")

# %%
# What is usual among all conditions, apart from chance, is the empirical null:
null = atlas.nulls.iloc[0]
print(f"centre {np.exp(null['centre']):.2f}, spread (log) {null['spread']:.2f}")

# %%
# Taken for granted, the assumptions make more conditions stand out than do against the null:
table = atlas.table.dropna(subset=["diagnosis_ratio"])
print((table["q_value"] <= 0.05).sum(), "by q-values that take the assumptions for granted")
print((table["null_q_value"] <= 0.05).sum(), "by q-values against the empirical null")

# %%
# How far from the others, against how certain; those that really differ are orange:
differs = table["condition"].isin(world.names[:4])
figure, ax = plt.subplots(layout="constrained")
for rows, colour, label in ((~differs, "C0", "recorded alike"), (differs, "C1", "differ by 3")):
    own = table[rows]
    ax.scatter(
        own["diagnosis_ratio"], -np.log10(own["null_p_value"]), own["effective_cases"] / 2,
        color=colour, alpha=0.6, label=label,
    )  # fmt: skip
ends = np.exp(null["centre"] + np.array([-1.96, 1.96]) * null["spread"])
ax.axvspan(*ends, color="0.5", alpha=0.15, zorder=0)
ax.set_xscale("log", base=2)
ax.set(xlabel="Diagnosis-rate ratio, Group A versus Group B", ylabel="-log10 p against the null")
ax.legend(frameon=False)
plt.show()
