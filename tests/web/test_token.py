"""A page with a token: clients that present it see all of the page, others see nothing."""

from __future__ import annotations

from contextlib import closing
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import Chrome
from tests.cli.program import complaint, run
from tests.waiting import PATIENCE_S
from tests.web import runs
from tests.web.page import Page

from mead.keys import ConfigError
from mead.web.server import serving
from mead.web.token import Token

SECRET = "0123456789abcdef0123"  # noqa: S105 - of a test
PATHS = ["/", "/metrics", "/events", "/api/run", "/api/now", "/static/page.js", "/nowhere", "/?token=wrong"]


def asked(address: str, path: str, **headers: str) -> tuple[int, Message, bytes]:
    place = urlsplit(address)
    with closing(HTTPConnection(str(place.hostname), place.port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {SECRET}"}])
def test_nothing_is_answered_without_the_token(headers: dict[str, str]) -> None:
    with serving(runs.board(runs.simulated().rounds), token=Token(SECRET)) as address:
        for path in PATHS:
            status, told, text = asked(address, path, **headers)
            assert (status, told["WWW-Authenticate"]) == (401, 'Bearer realm="mead"'), path
            assert text.startswith(b"this page needs a token")
            assert SECRET.encode() not in text
            assert "Set-Cookie" not in told


def test_a_bearer_token_opens_every_path() -> None:
    with serving(runs.board(runs.simulated().rounds), token=Token(SECRET)) as address:
        for path in ("/", "/metrics", "/api/run", "/static/page.js"):
            assert asked(address, path, Authorization=f"bearer {SECRET}")[0] == 200


def test_a_browser_that_was_given_the_token_once_shows_the_page(driver: Chrome) -> None:
    with serving(board := runs.board(runs.simulated("threshold").rounds[:18]), token=Token(SECRET)) as address:
        page = Page(driver, board, address)
        driver.get(address)
        assert "needs a token" in page.text("body")
        driver.get(f"{address}?token={SECRET}")
        page.until_live()
        assert driver.current_url.split("#")[0] == address, "the token does not stay in the address"
        assert SECRET not in driver.execute_script("return document.cookie"), "no script can read it"
        page.open("why")
        page.until_live()
        driver.delete_all_cookies()


def test_top_presents_the_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    with serving(runs.board(runs.simulated().rounds), token=Token(SECRET)) as address:
        assert run("top", address, "--json", "--token-file", tmp_path / "token").exit_code == 0
        (tmp_path / "other").write_text("anotherTokenOfSomeLength")
        said = "the page needs another token: name its file by --token-file"
        assert complaint("top", address) == f"mead top: {address.rstrip('/')}: {said}"
        assert said in complaint("top", address, "--token-file", tmp_path / "other")


@pytest.mark.parametrize("text", ["", "short", "with spaces in the middle", "0123456789abcdefé", "0123456789abcde;f"])
def test_a_file_without_a_token_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError) as refused:
        Token.read(tmp_path / "token")
    said = str(refused.value)
    assert said.startswith(f"{tmp_path / 'token'}: a token has at least 16 letters and digits")
    assert not text or text not in said
    assert "\n" not in said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none: cannot be read"):
        Token.read(tmp_path / "none")
