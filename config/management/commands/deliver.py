"""``manage.py deliver``: the owner and the scheduler, for a process or a machine apart from the web server."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config import first_run, stopping
from config.delivery import Delivery
from routines import registrar
from routines.scheduler import Scheduler
from schedules.owner import Owner
from schedules.sessions.errors import PersistenceUncertain


class Command(BaseCommand):
    help = "Delivers due reminders and fires due routines until it is stopped, or once. Any number may run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="do what is due now, say what was done, and exit")
        parser.add_argument("--json", action="store_true", help="with --once: say it in JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["json"] and not options["once"]:
            raise CommandError("--json belongs to --once.", returncode=2)
        first_run.require_database()
        first_run.require_migrated()
        if options["once"]:
            self._once(as_json=options["json"])
            return
        delivery = Delivery()
        with stopping.on_signal(delivery.stop):
            delivery.start()
            delivery.join()

    def _once(self, *, as_json: bool) -> None:
        owner = Owner()
        scheduler = Scheduler()

        def stop() -> None:
            owner.stop()
            scheduler.stop()

        try:
            with stopping.on_signal(stop):
                done = owner.drive_all()
                owner.leave()
                registrar.OWN.reconcile()
                fired = scheduler.drive_all()
                scheduler.leave()
        except PersistenceUncertain:
            raise CommandError("The database did not answer. What is due stays so; run this again.") from None
        counts = {
            "admitted": done.admitted,
            "expired": done.expired,
            "failed": done.failed,
            "locked": done.locked,
            "attempts": fired.begun,
        }
        if as_json:
            self.stdout.write(json.dumps(counts))
        else:
            self.stdout.write(
                f"Follow-ups queued: {done.admitted}. Leases ended: {done.expired}. "
                f"Sessions that failed: {done.failed}; that others held locked: {done.locked}. "
                f"Attempts of routines' runs: {fired.begun}."
            )
        if done.failed:
            raise CommandError(f"{done.failed} sessions failed; the log says why. Their reminders stay active.")
