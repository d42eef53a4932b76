"""PostgreSQL plans the statements of this server for memory and solid-state disks.

Its default assumes that the next row of an index takes four times as long to read as that of a
table, as on a spinning disk. It then reads whole tables where an index takes a third of the time. A
value that the operator has set for the server, the database, the role or in DATABASE_URL is kept
(PostgreSQL, Planner Cost Constants; pg_settings).
"""

from typing import Final

# A statement instead of a startup option, which poolers of connections such as PgBouncer refuse.
REPLACE_DEFAULT: Final = """
SELECT set_config(name, '1.1', false) FROM pg_settings
 WHERE name = 'random_page_cost' AND source = 'default'
"""
