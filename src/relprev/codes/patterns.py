"""Patterns that match codes: a single code, a prefix, a range or a regular expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from relprev.codes.spelling import VERSION_NAMES, normalize, version_name
from relprev.errors import InvalidInputError

LAST = "\uffff"  # comes after all characters of codes
SHORTEST = 3  # characters of an ICD category, of which ranges are made
_RANGE = re.compile(  # the version may stand before the second end too
    r"([A-Za-z0-9.]+)\*?\s*[-\u2013]\s*(?:([A-Za-z0-9 -]+):\s*)?([A-Za-z0-9.]+)\*?"
)


@dataclass(frozen=True)
class CodePattern:
    """A code, a prefix (trailing ``*``), a range or a regular expression (between slashes).

    A range of ICD codes holds everything from its first code to the last, with all that is below
    them: ``ICD10:I10-I13`` has I10, I11.0 and I13.2. Codes of other vocabularies may hold a dash.

    Parameters
    ----------
    version : str
        Such as ``"ICD10"``.
    text : str
        ``"N801"``, ``"N80*"``, ``"I10-I13"`` or ``"/N8[0-2].*/"``.

    Examples
    --------
    >>> pattern = CodePattern.parse("ICD10:n80.1*")
    >>> str(pattern), pattern.matches("ICD10", "N8012"), pattern.matches("ICD9", "N8012")
    ('ICD10:N801*', True, False)
    >>> str(CodePattern.parse("ICD10:T74.11XA").cut_to(4))
    'ICD10:T741'
    >>> hypertension = CodePattern.parse("ICD10:I10-I13")
    >>> [hypertension.matches("ICD10", code) for code in ("I10", "I132", "I14")]
    [True, True, False]
    """

    version: str
    text: str

    @staticmethod
    def parse(text: str) -> CodePattern:
        """Read ``VERSION:code``, ``VERSION:prefix*``, a range or ``VERSION:/expression/``."""
        version, colon, pattern = text.partition(":")
        if not (colon and version.strip() and pattern.strip()):
            raise InvalidInputError(
                "a code must be written VERSION:code, for example ICD10:T74.11XA or ICD9:E967*, "
                f"and a range ICD10:I10-I13, got {text!r}"
            )
        pattern = pattern.strip()
        if is_expression(pattern):
            try:
                re.compile(pattern[1:-1])
            except re.error as error:
                raise InvalidInputError(
                    f"{text!r} is not a valid regular expression: {error}"
                ) from None
        elif version_name(version) in VERSION_NAMES.values() and _RANGE.fullmatch(pattern):
            pattern = _range(text, pattern)
        elif pattern.endswith("*"):
            pattern = normalize(pattern[:-1]) + "*"
        else:
            pattern = normalize(pattern)
        return CodePattern(version_name(version), pattern)

    def matches(self, version: str, code: str) -> bool:
        """Whether the pattern matches a code, in canonical spelling."""
        if version != self.version:
            return False
        if is_expression(self.text):
            return re.fullmatch(self.text[1:-1], code) is not None
        if is_range(self.text):
            low, high = self.text.split("-")
            return low <= code[: len(low)] and code[: len(high)] <= high
        if self.text.endswith("*"):
            return code.startswith(self.text[:-1])
        return code == self.text

    def cut_to(self, length: int) -> CodePattern:
        """The pattern for data that keep only the first ``length`` characters of a code."""
        if is_expression(self.text):
            raise InvalidInputError(
                f"{self} is a regular expression, but the data keep only the first {length} "
                f"characters of {self.version} codes; use codes or prefixes instead"
            )
        if is_range(self.text):
            return replace(self, text="-".join(end[:length] for end in self.text.split("-")))
        body = self.text.rstrip("*")
        if len(body) >= length:
            return replace(self, text=body[:length])
        return self

    def may_share(self, other: CodePattern) -> bool:
        """Whether a code could match both patterns.

        Examples
        --------
        >>> asthma = CodePattern.parse("ICD10:J45*")
        >>> [asthma.may_share(CodePattern.parse(f"ICD10:{code}")) for code in ("J45.9", "J44*")]
        [True, False]
        >>> asthma.may_share(CodePattern.parse("ICD10:J40-J47"))
        True
        """
        if self.version != other.version:
            return False
        if is_expression(self.text) or is_expression(other.text):
            return True
        return self._first <= other._last and other._first <= self._last

    @property
    def _first(self) -> str:
        return example_code(self.text)

    @property
    def _last(self) -> str:
        """What no code of the pattern comes after."""
        end = self.text.removesuffix("*").rpartition("-")[2]
        return end + LAST if is_broad(self.text) else end

    @property
    def written(self) -> str:
        """As in study files, such as ``"ICD10:N80*"``."""
        return f"{self.version}:{self.text}"

    def __str__(self) -> str:
        return self.written


def example_code(pattern: str) -> str:
    """A code that a pattern's text, which is no expression, matches.

    Examples
    --------
    >>> example_code("N80*"), example_code("I10-I13")
    ('N80', 'I10')
    """
    return pattern.removesuffix("*").partition("-")[0]


def is_broad(pattern: str) -> bool:
    """Whether a pattern's text may match several codes."""
    return pattern.endswith("*") or is_range(pattern) or is_expression(pattern)


def is_range(pattern: str) -> bool:
    """Whether a pattern's text is a range; canonical codes have no dash."""
    return "-" in pattern and not is_expression(pattern)


def is_expression(pattern: str) -> bool:
    """Whether a pattern's text is a regular expression."""
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


def _range(text: str, pattern: str) -> str:
    """The canonical spelling of a range; fails if its ends are not in order."""
    found = _RANGE.fullmatch(pattern)
    assert found is not None
    first, version, last = found.groups()
    low, high = normalize(first), normalize(last)
    mixed = version is not None and version_name(version) != version_name(text.partition(":")[0])
    if mixed or min(len(low), len(high)) < SHORTEST or low[: len(high)] > high[: len(low)]:
        raise InvalidInputError(
            f"{text!r} is not a range of codes; write both ends in full, of one version, the lower "
            "one first, as in ICD10:I10-I13 or ICD9:401-405"
        )
    return f"{low}-{high}"
