"""The few exceptions and warnings relprev raises.

Messages name the parameter, what was expected, what came and the remedy. They
never contain a patient's row or identifier: positions and counts only.
"""


class RelprevError(Exception):
    """Base class of every error relprev raises on purpose."""


class InvalidInputError(RelprevError, ValueError):
    """The data or a parameter cannot be used; the message says how to fix it."""


class TooFewCasesError(InvalidInputError):
    """The data are too thin for what was asked (for example, for a split)."""


class RelprevWarning(UserWarning):
    """Base class of every warning relprev issues."""


class ConvergenceWarning(RelprevWarning):
    """The solver stopped before its certificate reached the tolerance."""


class DataWarning(RelprevWarning):
    """Estimation is possible, but something in the data deserves attention."""
