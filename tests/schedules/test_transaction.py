"""The barrier: where the database did not confirm, nothing is guessed."""

import time

import pytest
from django.db import connection

from schedules import transaction
from schedules.sessions.errors import PersistenceUncertain


@pytest.mark.engine("postgresql")
@pytest.mark.parametrize(
    "beforehand",
    ["SET LOCAL idle_in_transaction_session_timeout = '20ms'", "SET TRANSACTION READ ONLY"],
    ids=["ended for idling", "read-only since a failover"],
)
def test_a_transaction_that_the_server_ended_is_uncertain_not_an_error_of_ours(store: None, beforehand: str) -> None:
    with pytest.raises(PersistenceUncertain):
        write(beforehand)

    write("SELECT 1")


def write(beforehand: str) -> None:
    with transaction.barrier(), connection.cursor() as cursor:
        cursor.execute(beforehand)
        time.sleep(0.2)  # the server ends only what idles
        cursor.execute("DELETE FROM schedules_lease")
