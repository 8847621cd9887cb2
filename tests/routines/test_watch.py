"""The watcher: a change on the disk becomes a changed job at the next step, and rest costs little."""

import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from routines import registrar, watch
from routines.models import Job, Registrar, Routine
from routines.tools import registry
from schedules.sessions.errors import PersistenceUncertain
from tests.conftest import START, HandClock
from tests.routines import workspaces

HOURLY = {"kind": "cron", "cron": "0 * * * *"}


@pytest.fixture
def workspace(
    store: None, clock: HandClock, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setattr(registry, "_BUILT_IN", ("noop",))
    settings.WAKEFUL_WORKSPACES = [str(tmp_path / "w")]
    settings.WAKEFUL_SCAN_SECONDS = 1
    User.objects.create_superuser("root")
    workspaces.put(tmp_path / "w", "aa", schedule=HOURLY)
    return tmp_path / "w"


@pytest.fixture
def watcher(workspace: Path) -> watch.Watcher:
    """One that has made its first step."""
    made = watch.Watcher(registrar.Registrar())
    made.step(START)
    return made


def held() -> list[str]:
    return list(Job.objects.order_by("routine_id").values_list("routine_id", flat=True))


def test_the_first_step_reconciles(watcher: watch.Watcher) -> None:
    assert held() == ["aa"]


def test_a_new_an_edited_and_a_broken_file_take_effect_at_the_next_step(
    workspace: Path, watcher: watch.Watcher
) -> None:
    workspaces.put(workspace, "team/bb")
    watcher.step(START)
    assert held() == ["aa", "bb"]
    path = workspaces.put(workspace, "aa", description="edited")
    watcher.step(START)
    assert "edited" in Job.objects.get(routine_id="aa").document
    workspaces.spoil(path)
    watcher.step(START)
    assert Job.objects.get(routine_id="aa").stale


def test_a_file_that_is_gone_is_looked_for_once_more_before_its_job_goes(
    workspace: Path, watcher: watch.Watcher
) -> None:
    workspaces.remove(workspace, "aa")
    assert watcher.step(START) == watch.AGAIN_SECONDS
    assert held() == ["aa"]
    watcher.step(START)
    assert held() == []


def test_a_file_that_was_only_being_saved_keeps_its_job(workspace: Path, watcher: watch.Watcher) -> None:
    before = Job.objects.get().id
    workspaces.remove(workspace, "aa")
    watcher.step(START)
    workspaces.put(workspace, "aa", schedule=HOURLY, description="saved")
    watcher.step(START)
    assert Job.objects.get().id == before
    assert "saved" in Job.objects.get().document


def test_files_that_go_all_the_time_put_nothing_off_for_ever(workspace: Path, watcher: watch.Watcher) -> None:
    workspaces.put(workspace, "bb")
    workspaces.put(workspace, "cc")
    watcher.step(START)
    for name in ("aa", "bb"):
        workspaces.remove(workspace, name)
        watcher.step(START)
    assert held() == ["cc"]


def test_a_step_without_a_change_asks_the_database_nothing(workspace: Path, watcher: watch.Watcher) -> None:
    Job.objects.all().delete()
    assert watcher.step(START) >= 1
    assert held() == []


@pytest.mark.parametrize("now", [START + watch.ANYWAY_MS, START - 1])
def test_once_a_minute_or_when_the_clock_was_set_back_it_reconciles_anyway(watcher: watch.Watcher, now: int) -> None:
    Job.objects.all().delete()
    watcher.step(START + watch.ANYWAY_MS - 1)
    assert held() == []
    watcher.step(now)
    assert held() == ["aa"]


def test_a_user_who_comes_back_is_noticed_within_the_minute(watcher: watch.Watcher) -> None:
    User.objects.update(is_active=False)
    watcher.step(START + watch.ANYWAY_MS)
    assert Routine.objects.get().code == "routine_permission_denied"
    User.objects.update(is_active=True)
    watcher.step(START + 2 * watch.ANYWAY_MS)
    assert held() == ["aa"]


def test_what_the_database_did_not_take_is_tried_at_the_next_step(
    workspace: Path, watcher: watch.Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces.put(workspace, "bb")
    with monkeypatch.context() as others:
        others.setattr(registrar, "_TRIES", 0)
        with pytest.raises(PersistenceUncertain):
            watcher.step(START)
    watcher.step(START)
    assert held() == ["aa", "bb"]


def test_two_watchers_write_a_change_once(workspace: Path, watcher: watch.Watcher) -> None:
    other = watch.Watcher(registrar.Registrar())
    other.step(START)
    workspaces.put(workspace, "aa", description="edited")
    before = Registrar.objects.get().version
    for one in (watcher, other, watcher):
        one.step(START)
    assert Registrar.objects.get().version == before + 1


def test_what_is_away_comes_back_without_a_word(workspace: Path, watcher: watch.Watcher) -> None:
    job = Job.objects.get().id
    shutil.move(workspace, workspace.parent / "away")
    watcher.step(START)
    watcher.step(START)
    assert Job.objects.get().stale
    shutil.move(workspace.parent / "away", workspace)
    watcher.step(START)
    assert (Job.objects.get().id, Job.objects.get().stale) == (job, False)
