"""The logger ``sordino``: the library's only way to say something.

Nothing is shown unless the application configures logging (Python shows warnings and
worse on standard error by default). The library never writes to standard output.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("sordino")
logger.addHandler(logging.NullHandler())
