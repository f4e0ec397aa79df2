"""How to get into the tests' server, which no output may tell."""

from urllib.parse import quote

USER = "data officer"
PASSWORD = "s3:cr/et@#?%"  # noqa: S105 - of a server that lives as long as the tests


def no_secret_in(*texts):
    """Raises if a text tells the user or the password, written plainly or in percent codes."""
    for secret in (USER, PASSWORD, quote(USER), quote(PASSWORD, safe="")):
        assert [text for text in texts if secret in text] == []
