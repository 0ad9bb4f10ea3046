"""The migration of the shop's or the ad server's tables, which are in separate schemas.

The module refuses tables that this version cannot use.
"""

from collections.abc import Callable

import click
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


class OldTablesError(click.ClickException):
    """The error for tables of an earlier version without a migration to this version."""


def migrate(schema: str, title: str, progress: Callable[[str], None]) -> None:
    """Create the schema if it is missing, and apply the missing migrations.

    Raises OldTablesError if this version cannot use the tables.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {connection.ops.quote_name(schema)}")
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        progress(title)
        call_command("migrate", interactive=False, verbosity=0)
    _check_columns(schema)


def _check_columns(schema: str) -> None:
    """Raise OldTablesError if a column is missing.

    The names of the applied migrations do not show this, because version 0.2.0 began again with a
    migration `0001_initial`.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = %s",
            [schema],
        )
        there = set(cursor.fetchall())
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        for field in model._meta.local_concrete_fields:
            if (table, field.column) not in there:
                raise OldTablesError(
                    f"an earlier version of Doorbuster created the tables of the schema {schema}: "
                    f"{table} has no column {field.column}; fix: `make reset`, which empties the "
                    "database and keeps the results"
                )
