"""Patterns that match codes: a single code, a prefix or a regular expression."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from relprev.codes.spelling import normalize, version_name
from relprev.errors import InvalidInputError


@dataclass(frozen=True)
class CodePattern:
    """A code, a prefix (trailing ``*``) or a regular expression (between slashes).

    Parameters
    ----------
    version : str
        Such as ``"ICD10"``.
    text : str
        ``"N801"``, ``"N80*"`` or ``"/N8[0-2].*/"``.

    Examples
    --------
    >>> pattern = CodePattern.parse("ICD10:n80.1*")
    >>> str(pattern), pattern.matches("ICD10", "N8012"), pattern.matches("ICD9", "N8012")
    ('ICD10:N801*', True, False)
    >>> str(CodePattern.parse("ICD10:T74.11XA").cut_to(4))
    'ICD10:T741'
    """

    version: str
    text: str

    @staticmethod
    def parse(text: str) -> CodePattern:
        """Read ``VERSION:code``, ``VERSION:prefix*`` or ``VERSION:/expression/``."""
        version, colon, pattern = text.partition(":")
        if not (colon and version.strip() and pattern.strip()):
            raise InvalidInputError(
                f"a code must be written VERSION:code, for example ICD10:T74.11XA or ICD9:E967*, "
                f"got {text!r}"
            )
        pattern = pattern.strip()
        if is_expression(pattern):
            try:
                re.compile(pattern[1:-1])
            except re.error as error:
                raise InvalidInputError(
                    f"{text!r} is not a valid regular expression: {error}"
                ) from None
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
        body = self.text.rstrip("*")
        if len(body) >= length:
            return replace(self, text=body[:length])
        return self

    def __str__(self) -> str:
        return f"{self.version}:{self.text}"


def is_expression(pattern: str) -> bool:
    """Whether a pattern's text is a regular expression."""
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")
