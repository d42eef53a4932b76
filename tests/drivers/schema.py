"""The schema of a database as values that can be compared, whichever migrations made it."""

import re
import sqlite3
from typing import Any

import psycopg

# FTS5 keeps its data in tables of these names, which it creates itself.
SHADOW = re.compile(r"_(?:config|content|data|docsize|idx)\Z")
SPACE = re.compile(r"\s+")
# Columns without their position: those that were added later are the last ones of a table.
POSTGRESQL = {
    "table": """
        SELECT c.relname, c.relkind::text, c.relpersistence::text, c.reloptions::text
        FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace
            AND c.relkind IN ('r', 'v', 'm', 'p', 'S')
    """,
    "column": """
        SELECT c.relname, a.attname,
            format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attidentity::text, a.attgenerated::text, a.attcollation::regcollation::text,
            pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute AS a
        JOIN pg_class AS c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
            AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "index": """
        SELECT pg_get_indexdef(i.indexrelid), i.indisvalid
        FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE c.relnamespace = 'public'::regnamespace
    """,
    "constraint": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    """,
    "trigger": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    # Those of extensions are not ours.
    "function": """
        SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p
        WHERE p.pronamespace = 'public'::regnamespace AND NOT EXISTS (
            SELECT 1 FROM pg_depend WHERE objid = p.oid AND deptype = 'e'
        )
    """,
    "sequence": """
        SELECT s.seqrelid::regclass::text, s.seqtypid::regtype::text,
            d.refobjid::regclass::text, d.refobjsubid > 0
        FROM pg_sequence AS s
        LEFT JOIN pg_depend AS d ON d.objid = s.seqrelid AND d.deptype IN ('a', 'i')
    """,
    "extension": "SELECT extname FROM pg_extension",
}


def read_sqlite(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Returns tables, their columns and constraints, indexes and triggers, sorted."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    virtual = {name for _, name, _, sql in rows if sql and sql.startswith("CREATE VIRTUAL")}
    shadows = {name for _, name, _, _ in rows if SHADOW.sub("", name) in virtual} - virtual
    schema: list[tuple[Any, ...]] = []
    for kind, name, table, sql in rows:
        if table in shadows or name.startswith("sqlite_"):
            continue
        if kind != "table" or name in virtual:
            schema.append((kind, name, table, normalize(sql)))
            continue
        schema += [("clause", name, clause) for clause in clauses(sql)]
        # Without their position, which Django changes when it copies a table to alter it.
        columns = connection.execute(f'PRAGMA table_xinfo("{name}")')
        schema += [("column", name, *column) for _position, *column in columns]
    return sorted(schema, key=repr)


def clauses(sql: str) -> list[str]:
    """Returns the definitions of columns and constraints in CREATE TABLE, and what follows them."""
    body = normalize(sql).partition("(")[2]
    parts, depth, quote = [""], 0, ""
    for letter in body:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
        if not quote and (depth < 0 if letter == ")" else depth == 0 and letter == ","):
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def normalize(sql: str) -> str:
    return SPACE.sub(" ", sql or "").strip()


def read_postgresql(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    """Returns everything in the schema `public`, sorted."""
    # Names are printed without their schema.
    connection.execute("SET search_path = public")
    found = [
        (kind, *row) for kind, query in POSTGRESQL.items() for row in connection.execute(query)
    ]
    return sorted(found, key=repr)
