"""Tables of estimates and of controls, as the estimators make them."""

import numpy as np
import pandas as pd


def estimates(std_error=0.1):
    half = 1.96 * std_error
    row = {
        "group": "a", "versus": "b", "estimate": 2.0, "ci_low": 2 * np.exp(-half),
        "ci_high": 2 * np.exp(half), "observed_ratio": 1.0, "std_error": std_error,
        "degrees_of_freedom": 1e6, "diagnosis_ratio": 0.5, "diagnosis_ci_low": 0.4,
        "diagnosis_ci_high": 0.6, "effective_cases": 100.0, "n_diagnosed": 300,
    }  # fmt: skip
    return pd.DataFrame([row])


def controls(errors, std_error=0.05, auc=0.7):
    return pd.DataFrame([
        {"control": f"control {k}", "group": "a", "versus": "b", "n_recorded": 500,
         "observed_ratio": 1.0, "log_error": error, "std_error": std_error,
         "effective_cases": 200.0, "degrees_of_freedom": 1e6, "auc": auc, "auc_std_error": 0.02}
        for k, error in enumerate(errors)
    ])  # fmt: skip
