"""The Grafana Foundation SDK for the classic dashboard model.

The module adds the PostgreSQL query that the SDK lacks. On import, the SDK warns that it prefers a
newer dashboard model, which Grafana 12 does not provision from files by default.
"""

import json
from typing import Any

from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import variants as cogvariants
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import DataSourceRef

POSTGRESQL = "grafana-postgresql-datasource"
"""The data source's type since Grafana 11."""

_IN_A_MENU = ("placement", "inControlsMenu")
"""The SDK's default, which hides links and annotation switches in a menu. `as_plain` removes it."""


class SqlQuery(cogvariants.Dataquery):
    """A query of the PostgreSQL data source in SQL.

    The answer is a table or, with format `time_series`, a line for each value of the text column.
    """

    def __init__(
        self, raw_sql: str, ref_id: str, datasource: DataSourceRef, form: str = "table"
    ) -> None:
        self.raw_sql, self.ref_id, self.datasource, self.form = raw_sql, ref_id, datasource, form

    def to_json(self) -> dict[str, object]:
        return {
            "datasource": self.datasource,
            "editorMode": "code",
            "format": self.form,
            "rawQuery": True,
            "rawSql": self.raw_sql,
            "refId": self.ref_id,
        }


class SqlQueryBuilder(cogbuilder.Builder[SqlQuery]):
    def __init__(self, query: SqlQuery) -> None:
        self._query = query

    def build(self) -> SqlQuery:
        return self._query


def as_plain(model: object) -> Any:
    """Return a model as plain JSON values, without the SDK's default place of a link, which Grafana
    must not receive."""
    return _without(json.loads(JSONEncoder().encode(model)))


def _without(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {k: _without(v) for k, v in plain.items() if (k, v) != _IN_A_MENU}
    return [_without(v) for v in plain] if isinstance(plain, list) else plain
