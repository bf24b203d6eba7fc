#!/usr/bin/env python3
"""The reference for group counts: a column store with the same columns and questions as the anonymiser's, in memory, in this process.

columns.py ENGINE THREADS FOLDER: reads people.csv and filters.json of FOLDER and prints one line of JSON: the name of the engine,
milliseconds of each question, and what each counted. ENGINE is duckdb or chdb; THREADS 0 is as many as the engine likes.
A question's time is from handing the SQL to the engine's Python interface until the answer is there; the first ones are asked twice.
"""

import json
import sys
import time
from pathlib import Path

# Bands of five years up to 85 and more, as the anonymiser's finest classes are; one number a class and value.
KEY = {
    "duckdb": "(least(age // 5, 17)::INTEGER * 4 + sex) * 256 + value",
    "chdb": "(least(intDiv(age, 5), 17) * 4 + sex) * 256 + value",
}
WARM_UP = 20


class DuckDB:
    TYPES = {
        "age": "UTINYINT", "weight": "UTINYINT", "height": "UTINYINT", "sex": "UTINYINT", "occupation": "UTINYINT",
        "residence": "USMALLINT", "birth": "USMALLINT", "shares": "UTINYINT", "days": "UINTEGER", "value": "USMALLINT",
    }

    def __init__(self, threads, file):
        import duckdb

        self.name = f"DuckDB {duckdb.__version__}"
        self.connection = duckdb.connect(":memory:", config={"threads": threads} if threads else {})
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in self.TYPES.items())
        self.connection.execute(
            f"CREATE TABLE people AS SELECT * FROM read_csv('{file}', header = false, columns = {{{columns}}})"
        )

    def ask(self, sql):
        return [int(value or 0) for value in self.connection.execute(sql).fetchone()]


class ClickHouse:
    TYPES = {
        "age": "UInt8", "weight": "UInt8", "height": "UInt8", "sex": "UInt8", "occupation": "UInt8", "residence": "UInt16",
        "birth": "UInt16", "shares": "UInt8", "days": "UInt32", "value": "UInt16",
    }

    def __init__(self, threads, file):
        import chdb
        from chdb.session import Session

        self.name = f"chDB {chdb.__version__}"
        self.session = Session()
        columns = ", ".join(f"{name} {kind}" for name, kind in self.TYPES.items())
        self.session.query("CREATE DATABASE bench ENGINE = Atomic")
        self.session.query(f"CREATE TABLE bench.people ({columns}) ENGINE = Memory")
        self.session.query(f"INSERT INTO bench.people SELECT * FROM file('{file}', 'CSV', '{columns}')")
        self.session.query("USE bench")
        if threads:
            self.session.query(f"SET max_threads = {threads}")

    def ask(self, sql):
        return [int(float(value)) for value in str(self.session.query(sql, "CSV")).strip().split(",")]


def condition(filters, engine):
    """The same conjunction that the anonymiser looks up."""
    parts = ["shares = 1"]
    for column in ("age", "weight", "height"):
        if filters.get(column):
            parts.append(f"{column} BETWEEN {filters[column][0]} AND {filters[column][1]}")
    for column in ("sex", "occupation"):
        if filters.get(column):
            parts.append(f"{column} IN ({', '.join(map(str, filters[column]))})")
    for column in ("residence", "birth"):
        if filters.get(column):
            ranges = [f"({column} >= {low} AND {column} < {high})" for low, high in filters[column]]
            parts.append(f"({' OR '.join(ranges)})")
    mask = filters["days"]
    parts.append(f"(days & {mask}) <> 0" if engine == "duckdb" else f"bitAnd(days, {mask}) != 0")
    return " AND ".join(parts)


def timed(engine, questions):
    for sql in questions[:WARM_UP]:
        engine.ask(sql)
    answers, took = [], []
    for sql in questions:
        begun = time.perf_counter()
        answers.append(engine.ask(sql))
        took.append((time.perf_counter() - begun) * 1000)
    return answers, took


def main():
    kind, threads, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).resolve()
    filters = json.loads((folder / "filters.json").read_text())
    engine = {"duckdb": DuckDB, "chdb": ClickHouse}[kind](threads, folder / "people.csv")
    conditions = [condition(one, kind) for one in filters]
    counts, counting = timed(engine, [f"SELECT count(*) FROM people WHERE {one}" for one in conditions])
    groups, grouping = timed(
        engine,
        [
            f"SELECT count(*), sum(n), sum(n * key), sum(n * n) FROM (SELECT {KEY[kind]} AS key, count(*) AS n FROM people"
            f" WHERE {one} AND value > 0 GROUP BY key)"
            for one in conditions
        ],
    )
    print(
        json.dumps(
            {
                "engine": engine.name,
                "counts": [count for count, in counts],
                "groups": groups,
                "countMilliseconds": counting,
                "groupMilliseconds": grouping,
            }
        )
    )


main()
