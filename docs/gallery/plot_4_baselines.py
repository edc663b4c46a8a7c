"""
Other methods on the same data
==============================

All methods in `relprev.baselines` are used like PURPLE: ``fit``, then ``relative_prevalence``. Here
only the diagnosis rate of group b varies and everything else stays the same: the true ratio is 0.43
throughout. To draw a figure of your own you need nothing but the tables.
"""

import matplotlib.pyplot as plt
import pandas as pd

from relprev import PURPLE, DebiasedPURPLE
from relprev.baselines import BBE, DEDPUL, SAREM, Observed
from relprev.simulate import gauss_synth

methods = {
    "recorded": Observed(),
    "BBE": BBE(),
    "DEDPUL": DEDPUL(),
    "SAR-EM": SAREM(),
    "PURPLE": PURPLE(),
    "DebiasedPURPLE": DebiasedPURPLE(),
}
rates = [0.1, 0.3, 0.5, 0.7, 0.9]
found = {}
for rate in rates:
    data = gauss_synth((0.5, rate), seed=1)
    truth = data.relative_prevalence("b").to_frame()["estimate"].iloc[0]
    for name, method in methods.items():
        table = method.fit(data.cohort).relative_prevalence(versus="b").to_frame()
        found[name, rate] = table["estimate"].iloc[0] / truth
found = pd.Series(found).unstack()
print(found.round(2).loc[list(methods)])

# %%
# The closer to 1, the better:
_, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name in methods:
    ax.plot(rates, found.loc[name], "o-", label=name, linewidth=1, markersize=4)
ax.axhline(1, color="0.6", zorder=0)
ax.set(yscale="log", xlabel="diagnosis rate of group b (group a: 0.5)", ylabel="estimate / truth")
ax.set_yticks([0.5, 1, 2, 5], ["0.5", "1", "2", "5"])
ax.minorticks_off()
ax.legend(frameon=False, ncols=3)
plt.show()

# %%
# The recorded ratio is off by the diagnosis-rate ratio. BBE and DEDPUL need regions where
# everybody has the condition; these data come close to that, so their errors are small. SAR-EM
# fits each group separately and relies on the height of its curve, which is right here but seldom
# elsewhere: see :doc:`the paper's experiments </evidence/paper>` for data where it is not.
