#!/usr/bin/env python3
"""Copies what check.py reads of the store from PostgreSQL into FOLDER/agui.db, under the names that SQLite's store has.

usage: postgres_tables.py URL FOLDER
"""

import csv
import io
import pathlib
import sqlite3
import subprocess
import sys

TABLES = {
    "threads": ("id, principal, thread_id", "id, convert_from(principal, 'UTF8'), convert_from(thread_id, 'UTF8')"),
    "messages": ("thread, message", "thread, convert_from(message, 'UTF8')"),
    "session_events": ("thread, type, data", "thread, convert_from(type, 'UTF8'), convert_from(data, 'UTF8')"),
    "calls": ("thread, call_id, owner, status", "thread, convert_from(call_id, 'UTF8'), owner, status"),
    "runs": ("thread, run_id, status", "thread, convert_from(run_id, 'UTF8'), status"),
    "leases": ("thread_id, run_id", "convert_from(thread_id, 'UTF8'), convert_from(run_id, 'UTF8')"),
}
ORDERS = {"threads": "id", "messages": "thread, number", "session_events": "thread, sequence", "calls": "number", "runs": "number"}


def main():
    url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    csv.field_size_limit(1 << 30)
    database = sqlite3.connect(folder / "agui.db")
    for table, (columns, values) in TABLES.items():
        query = f"COPY (SELECT {values} FROM agui.{table} ORDER BY {ORDERS.get(table, '1')}) TO STDOUT (FORMAT csv)"
        text = subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--dbname", url, "--command", query],
            check=True, capture_output=True, encoding="utf-8",
        ).stdout
        database.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" for _ in columns.split(","))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", csv.reader(io.StringIO(text, newline="")))
    # CSV has no types: the numbers of threads are compared as such.
    database.execute("UPDATE threads SET id = CAST(id AS INTEGER)")
    for table in ("messages", "session_events", "calls", "runs"):
        database.execute(f"UPDATE {table} SET thread = CAST(thread AS INTEGER)")
    database.commit()


if __name__ == "__main__":
    main()
