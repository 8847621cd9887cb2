"""The one way in which the text of a schedule is turned down."""


class Refused(ValueError):
    """A schedule that means nothing, or nothing we promise to do.

    The message is plain words and says what to write instead. `field` is the key of `schedule` at fault:
    `cron`, `timezone`, `every`, `from` or `rrule`.
    """

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
