from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from mead.history.schema import MIGRATIONS, VERSION


def downgrade(path: Path, version: int) -> None:
    """Make the file what that version of the format would have written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for step in range(VERSION - 1, version - 1, -1):
            column = re.match(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", MIGRATIONS[step])
            table = re.search(r"CREATE TABLE (\w+)", MIGRATIONS[step])
            if column:
                connection.execute(f"ALTER TABLE {column[1]} DROP COLUMN {column[2]}")
            elif table:
                connection.execute(f"DROP TABLE {table[1]}")
        connection.execute(f"PRAGMA user_version = {version}")
