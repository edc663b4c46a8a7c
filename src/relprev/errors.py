"""The few exceptions and warnings relprev raises.

Messages name the parameter, what was expected, what was given and the remedy. They never contain
a patient's row or identifier, only positions and counts.
"""

__all__ = [
    "ClusterError",
    "ConvergenceWarning",
    "DataWarning",
    "InvalidInputError",
    "RelprevError",
    "RelprevWarning",
    "TooFewCasesError",
]


class RelprevError(Exception):
    """Base class of every error relprev raises on purpose.

    Examples
    --------
    >>> from relprev import PURPLE
    >>> try:
    ...     PURPLE(lambdas=-1.0).fit([[1.0]], [1], groups=["a"])
    ... except RelprevError as error:
    ...     print(type(error).__name__)
    InvalidInputError
    """


class InvalidInputError(RelprevError, ValueError):
    """The data or a parameter cannot be used; the message says how to fix it.

    Examples
    --------
    >>> from relprev import as_cohort
    >>> try:
    ...     as_cohort([[1.0], [0.0]], [1, 2], groups=["a", "b"])
    ... except InvalidInputError as error:
    ...     print(str(error).split(",")[0])
    s must be 0 or 1 (recorded diagnosis no or yes)
    """


class TooFewCasesError(InvalidInputError):
    """The data are too thin for what was asked (for example, for a split).

    Examples
    --------
    >>> from relprev import DebiasedPURPLE
    >>> try:
    ...     DebiasedPURPLE().fit([[1.0], [0.0]], [1, 0], groups=["a", "b"])
    ... except TooFewCasesError as error:
    ...     print(str(error).split(" (")[0])
    fewer than two groups have enough diagnosed patients
    """


class ClusterError(RelprevError, RuntimeError):
    """A Dask cluster cannot be reached or cannot do the work; the message says what to do.

    Examples
    --------
    >>> from relprev.parallel.cluster import connect
    >>> try:
    ...     with connect("tcp://127.0.0.1:1", timeout=0.2):
    ...         pass
    ... except ClusterError as error:
    ...     print(str(error).split(";")[0])
    no scheduler answers at tcp://127.0.0.1:1
    """


class RelprevWarning(UserWarning):
    """Base class of every warning relprev issues.

    Examples
    --------
    A careful script turns them into errors:

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", RelprevWarning)
    ...     pass  # fit and estimate here
    """


class ConvergenceWarning(RelprevWarning):
    """The solver stopped before its certificate reached the tolerance.

    Examples
    --------
    Two steps of the solver are too few:

    >>> import warnings
    >>> from relprev import PURPLE
    >>> from relprev.simulate import gauss_synth
    >>> cohort = gauss_synth((0.5, 0.1), n=(1000, 2000), seed=1).cohort
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", ConvergenceWarning)
    ...     _ = PURPLE(lambdas=0.0, max_iterations=2).fit(cohort)
    >>> said[0].category.__name__
    'ConvergenceWarning'
    """


class DataWarning(RelprevWarning):
    """Estimation is possible, but something in the data deserves attention.

    Examples
    --------
    >>> import warnings
    >>> from relprev import PURPLE
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", DataWarning)
    ...     _ = PURPLE(lambdas=0.1).fit([[1.0], [0.0]] * 20, [1, 0, 0, 0] * 10,
    ...                                 groups=["a", "b"] * 20)
    >>> str(said[0].message).split(";")[0]
    "these groups have few diagnosed rows or none: 'a', 'b'"
    """
