"""Refuses row locks outside of a transaction of the product's own.

PostgreSQL refuses them in production, where no transaction is open around a request. In most tests
one is, and SQLite has no row locks.
"""

from typing import Any

from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError


def require_transactions() -> None:
    execute = SQLCompiler.execute_sql

    def execute_in_transaction(compiler: SQLCompiler, *args: Any, **options: Any) -> Any:
        if compiler.query.select_for_update:
            blocks = getattr(compiler.connection, "atomic_blocks", [])
            if all(getattr(block, "_from_testcase", False) for block in blocks):
                raise TransactionManagementError("A row is locked outside of a transaction.")
        return execute(compiler, *args, **options)

    SQLCompiler.execute_sql = execute_in_transaction  # type: ignore[method-assign]
