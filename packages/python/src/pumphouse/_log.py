"""The logger of this package."""

import logging
import sys
from typing import Optional

logger = logging.getLogger("pumphouse")


class Unconfigured(logging.Handler):
    """Writes warnings to stderr, with the time, in programs that have not set up ``logging``: Python would leave out the time."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if has_others(self) or logging.lastResort is None:
            return
        try:
            sys.stderr.write(f"{self.format(record)}\n")
        except Exception:
            self.handleError(record)


def has_others(own: logging.Handler) -> bool:
    """True if the program has a handler for the records of this logger."""
    place: Optional[logging.Logger] = logger
    while place is not None:
        if any(handler is not own for handler in place.handlers):
            return True
        place = place.parent if place.propagate else None
    return False


logger.addHandler(Unconfigured())
