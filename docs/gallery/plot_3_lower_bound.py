"""
A lower bound when the same symptoms mean more risk
===================================================

The third assumption says that the same symptoms mean the same risk in every group. Here we break it
on purpose: at equal symptoms, the risk in group b is ``alpha`` times the risk in group a. The
estimate is then off by exactly that factor. If the more affected group also has the higher risk at
equal symptoms, the estimate understates the disparity.
"""

import matplotlib.pyplot as plt
import numpy as np

from relprev import PURPLE
from relprev.simulate import gauss_synth

alphas = np.array([0.25, 0.5, 0.75, 1.0])
estimate, truth = [], []
for alpha in alphas:
    simulated = gauss_synth((0.5, 0.5), alpha=alpha, seed=1)
    fitted = PURPLE().fit(simulated.cohort)
    estimate.append(fitted.relative_prevalence("a").to_frame()["estimate"].iloc[0])
    truth.append(simulated.relative_prevalence("a").to_frame()["estimate"].iloc[0])

# %%
# The estimate divided by the truth is 1 / alpha:
figure, ax = plt.subplots(layout="constrained")
ax.plot(alphas, np.array(estimate) / truth, "o", label="estimated / true ratio")
ax.plot(alphas, 1 / alphas, "-", color="0.6", zorder=0, label="1 / alpha")
ax.set(xlabel="alpha", ylabel="estimated / true ratio, b versus a")
ax.legend(frameon=False)
plt.show()
