"""Log lines as JSON objects, one a line, for collectors."""

import json
import logging
from datetime import UTC, datetime


class JSONFormatter(logging.Formatter):
    """``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message`` and, where there is one, ``trace``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)
