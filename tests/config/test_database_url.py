"""What ``DATABASE_URL`` may say, and what is said of one that says nothing we know."""

from pathlib import Path

import pytest

from config import settings


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "UNREADABLE", {})


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "mysql://root@127.0.0.1/x",
        "postgres://127.0.0.1:abc/x",
        "sqlite://:memory:",
        "sqlite://",
    ],
)
def test_a_url_of_no_database_that_can_work_is_noted_for_the_checks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    settings.database_of_environment()
    assert "postgres://" in settings.UNREADABLE["DATABASE_URL"]


def test_a_relative_file_lies_beside_manage_py_whatever_the_current_folder_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", "sqlite:///some.sqlite3")
    assert settings.database_of_environment()["NAME"] == str(settings.BASE_DIR / "some.sqlite3")
    assert settings.UNREADABLE == {}


def test_what_a_url_sets_for_postgresql_wins_over_our_defaults() -> None:
    found = settings.database("postgres://u@h/x?options=-c%20lock_timeout%3D1s&connect_timeout=2")
    assert found["OPTIONS"]["options"].endswith("-c lock_timeout=1s")
    assert "idle_in_transaction_session_timeout" in found["OPTIONS"]["options"]
    assert found["OPTIONS"]["connect_timeout"] in (2, "2")
