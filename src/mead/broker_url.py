"""The url of a RabbitMQ broker: checked, filled in from the environment, and shown without its password.

No message repeats any part of a wrong url: a mistake can put the password anywhere. Loads only the standard library,
because Spark's Python workers use it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote

LOCAL_BROKER = "amqp://guest:guest@127.0.0.1:5672/"

FORM = "write it as amqp://user:password@host:5672/, with special characters of user and password as %XX"

_LOGIN = r"[\w.~!$&'()*+,;=%-]*"
URL = re.compile(
    rf"(?P<scheme>amqps?)://(?:(?P<login>{_LOGIN}(?::{_LOGIN})?)@)?"
    r"(?P<place>(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d{1,5}))?(?:/[\w.~%-]*)?)(?:\?[^\s#@]*)?",
    re.ASCII,
)
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def check_url(url: str) -> str:
    """Return a url that is one of a broker. Raises ValueError, without any part of the url.

    >>> check_url("amqp://me:sec#ret@host/")
    Traceback (most recent call last):
        ...
    ValueError: is not a url of RabbitMQ: write it as amqp://user:password@host:5672/, with special characters of user and password as %XX
    """  # noqa: E501 - an error is one line
    found = URL.fullmatch(url)
    if found is None:
        raise ValueError(f"is not a url of RabbitMQ: {FORM}")
    if found["login"] is not None and ":" not in found["login"]:
        raise ValueError("is not a url of RabbitMQ: it has a user, but no password: write user:password before the @")
    if found["port"] and not 0 < int(found["port"]) < 2**16:
        raise ValueError("is not a url of RabbitMQ: its port must lie between 1 and 65535")
    return url


def check_template(text: object) -> object:
    """Return a url that may contain variables such as ``${RABBITMQ_PASSWORD}``.

    Raises ValueError as `check_url`.
    """
    if not isinstance(text, str):
        raise ValueError(f"is not a url of RabbitMQ: {FORM}")  # noqa: TRY004 - a mistake in a file
    if not VARIABLE.fullmatch(text):
        check_url(VARIABLE.sub("1", text))
    return text


def fill_in(template: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the url with the values of its variables. Raises ValueError.

    A variable that is all of it holds a url; elsewhere its value may contain any characters.

    >>> fill_in("amqp://me:${WORD}@host/", {"WORD": "p@ss/word"})
    'amqp://me:p%40ss%2Fword@host/'
    """

    def value(variable: re.Match[str]) -> str:
        if variable[1] not in environment:
            raise ValueError(f"the environment variable {variable[1]} is not set: export it")
        return environment[variable[1]]

    if whole := VARIABLE.fullmatch(template):
        return check_url(value(whole))
    return check_url(VARIABLE.sub(lambda variable: quote(value(variable), safe=""), template))


def without_password(url: str) -> str:
    """Return the address of a checked url without user, password and parameters, for messages.

    >>> without_password("amqp://me:secret@host:5672/")
    'amqp://host:5672/'
    """
    found = URL.fullmatch(url)
    return "a url" if found is None else f"{found['scheme']}://{found['place']}"
