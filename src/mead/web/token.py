"""The token of a page: a secret that clients have to present."""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path

from mead.keys import ConfigError, read_file

LEAST_CHARACTERS = 16
MOST_BYTES = 4096
NOT_IN_COOKIES = frozenset('",;\\')


@dataclass(frozen=True)
class Token:
    """A secret. Without it, a client gets nothing."""

    secret: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Token:
        """The token in a file. Raises ConfigError, without the token."""
        try:
            text = read_file(path, MOST_BYTES).decode(errors="replace").strip()
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
        if len(text) < LEAST_CHARACTERS or not all("!" <= sign <= "~" and sign not in NOT_IN_COOKIES for sign in text):
            raise ConfigError(
                f"{path}: a token has at least {LEAST_CHARACTERS} letters and digits; make one with "
                "`openssl rand -hex 16`"
            )
        return cls(text)

    def matches(self, presented: str) -> bool:
        """Whether a client has presented this token. The time that it takes tells nothing about the token.

        >>> Token("0123456789abcdef").matches("0123456789abcdee")
        False
        """
        return compare_digest(presented.encode(errors="replace"), self.secret.encode())
