"""The tables of a comparison: sales, sessions, requests, clients, LIFO-Pri's Tables 4 and 5, and
shadows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from typing import Any

from lab.analysis import published
from lab.analysis.cells import Cell
from lab.analysis.metrics import BY_NAME, of_table
from lab.analysis.outcomes import FATES, FATES_MEANING, Outcomes
from lab.analysis.verdict import conclude
from lab.files.conclusion import CONCLUSION_FILE
from lab.files.documents import write_json, write_text
from lab.intervals import Estimate, estimate, estimate_known, text_of
from lab.report import paired_table, wasted_work
from lab.report.drawing.table import Table
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from lab.wording import title_of

ROWS = {
    "generated": "Generated",
    "completed": "Completed",
    "timed_out": "Timed out",
    "dropped": "Dropped",
    "not_generated": "Not generated (left of 100)",
    "never_asked_for": "Never sent",
    "other": "Rejected, refused or failed",
}


def headline(cells: Sequence[Cell]) -> Table:
    """Return the main table: completed requests, sales, and sales as a share of the bound."""
    metrics = of_table("Who sells")
    table = Table(
        "Who sells",
        ("ρ", "Policy", *(metric.title for metric in metrics), "Br-1 < 5 s"),
        note="Values are means of the repetitions ± half-width of the 95 % interval; confirms "
        "and bound are sums over all repetitions. The bound is the most confirms that a policy "
        "can reach on average with these customers and this server without knowing who will buy. "
        "The bound includes the server's time from the first arrival to the last answer. "
        "Efficiency = confirms / bound. Confirms vary by chance, because few sessions buy. "
        "Estimated is the expected efficiency if the shop serves the same share of the requests "
        "for each page as in these runs. Estimated varies less by chance than Efficiency. "
        "Requests/s are completed requests per paper second, from the first arrival to the end "
        "of the last session. Br-1 < 5 s is the share of Br-1 attempts that were answered within "
        "5 paper seconds.",
    )
    for cell in cells:
        quick = estimate([100 * share for share in cell.quick_share]).text() + " %"
        texts = (metric.text(cell) for metric in metrics)
        table.rows.append((cell.load, cell.title, *texts, quick))
    return table


def sessions(cells: Sequence[Cell]) -> Table:
    """Return the table of sessions: how many were let in, and how many of them completed (SBAC)."""
    metrics = of_table("Sessions")
    table = Table(
        "Sessions",
        ("ρ", "Policy", "Arrived", "Sessions completed %", "Lost %", "Never let in %", "Rejected %",
         *(metric.title for metric in metrics)),
        note=f"Arrived is the mean per run. {FATES_MEANING} The fates are in % of all sessions "
        "that arrived. "
        "Admission policies and DOOR-FIFO send rejection pages. The sessions that were let in are "
        "the completed and the lost sessions. Overload favours short sessions, so a large number "
        "of completed sessions can mean little work. Useful requests are the requests of "
        "completed sessions. Useful requests/s is their number per paper second while sessions "
        "arrived; Useful % is their percentage of all requests that were answered in time.",
    )  # fmt: skip
    for cell in cells:
        shares = (cell.over(partial(_fate_percent, fate)).text(1) for fate in FATES)
        texts = (metric.text(cell) for metric in metrics)
        arrived = BY_NAME["arrived_sessions"].text(cell)
        table.rows.append((cell.load, cell.title, arrived, *shares, *texts))
    return table


def _fate_percent(fate: str, run: Outcomes) -> float:
    return 100 * run.fates.share(fate)


def table4(cells: Sequence[Cell]) -> Table:
    """Return LIFO-Pri's Table 4: the attempts for each page type, scaled to 24,000 sessions."""
    beside = _beside(cells)
    table = Table(
        f"Table 4: requests by type, {beside}per 24,000 sessions",
        ("ρ", "Policy", "Requests", *published.GROUPS),
        note="Generated is the number of attempts, including retries."
        + (
            " SQ has one queue, so the paper prints only totals of its generated and dropped "
            "requests; the totals are in the first column. “–” means not published."
            if beside
            else ""
        ),
    )
    for cell in cells:
        paper = published.table4(cell.rho, cell.published) if cell.published else {}
        counted = [run.table4() for run in cell.runs]
        scale = [published.PUBLISHED_SESSIONS / run.sessions for run in cell.runs]
        for row in ("generated", "completed", "timed_out", "dropped", "other"):
            if row == "other" and not any(sum(one[row].values()) for one in counted):
                continue
            printed = paper.get(row, (None,) * len(published.GROUPS))
            as_total = bool(paper) and printed[0] is not None and printed[1] is None
            columns = []
            for i, group in enumerate(published.GROUPS):
                values = [
                    (sum(one[row].values()) if as_total and i == 0 else one[row][group]) * k
                    for one, k in zip(counted, scale, strict=True)
                ]
                theirs = "–" if printed[i] is None else f"{printed[i]:,}"
                ours = estimate(values).text()
                columns.append(f"{theirs} | {ours}" if beside else ours)
            table.rows.append((cell.load, cell.title, ROWS[row], *columns))
    return table


def requests(cells: Sequence[Cell]) -> Table:
    """Return the table of the outcomes of requests, in percent of all planned requests."""
    table = Table(
        "Requests, in % of all planned requests",
        ("", *(cell.heading for cell in cells)),
        note="Retries are counted, too. Turned away means rejected, dropped, refused or failed.",
    )
    for metric in of_table("Requests"):
        title = metric.title.removesuffix(" %")
        table.rows.append((title, *(metric.text(cell) for cell in cells)))
    return table


def table5(cells: Sequence[Cell]) -> Table:
    """Return LIFO-Pri's Table 5: percentages, with a column for each policy and ρ."""
    beside = _beside(cells)
    table = Table(
        f"Table 5: percent of requests, {beside}".removesuffix(", ").rstrip(),
        ("", *(cell.heading for cell in cells)),
        note="As in the paper, the percentages are shares of the planned browsing requests if "
        "ρ > 1, and of all planned requests otherwise. Dropped includes the rejected, refused and "
        "failed attempts. Not generated is the paper's row: 100 minus the three rows above. "
        "These rows "
        "count retries and purchases, which the browsing requests do not include. Not generated is "
        "therefore too small, and below 0 if there are many retries. Never sent is the "
        "percentage of planned requests that customers never sent."
        + (" “–” means not published." if beside else ""),
    )
    for row in ("completed", "timed_out", "dropped", "not_generated", "never_asked_for"):
        columns = []
        for cell in cells:
            paper = published.table5(cell.rho, cell.published) if cell.published else {}
            theirs = f"{paper[row]:g}" if row in paper else "–"
            ours = cell.over(partial(_table5_percent, row)).text(1)
            columns.append(f"{theirs} | {ours}" if beside else ours)
        table.rows.append((ROWS[row], *columns))
    return table


def _table5_percent(row: str, run: Outcomes) -> float:
    return run.table5()[row]


def clients(cells: Sequence[Cell]) -> Table:
    """Return the results by client set and class (Connection Sentry, Tables 1 to 4)."""
    table = Table(
        "Requests of clients by class",
        ("Policy", "Set", "Class", "Served", "Mean latency s", "p95 s", "Left", "Turned away"),
        note="Values are means of the repetitions ± half-width of the 95 % interval; times are in "
        "paper seconds. Clients of the control set never leave, so the paper measures their "
        "requests. Latency is the mean over served requests. In the test set, clients leave before "
        "slow requests are served, so compare the latencies of the control set. Left is the number "
        "of attempts whose client left before the answer; a reload is a new attempt.",
    )
    shown = (("served", 0), ("latency_s", 2), ("p95_s", 2), ("left", 0), ("turned_away", 0))
    for cell in cells:
        for part in dict.fromkeys(part for sets in cell.clients for part in sets):
            texts = []
            for name, digits in shown:
                found = cell.over_clients(part, attrgetter(name))
                texts.append(found.text(digits) if found else "none")
            table.rows.append((cell.title, part.clients, part.kind, *texts))
    return table


def tables_of(spec: Spec, cells: Sequence[Cell]) -> list[Table]:
    """Return the tables of these runs, beginning with the most important table."""
    found = (wasted_work.table(spec, cells), shadows(cells))
    last = [table for table in found if table is not None]
    if spec.clients:
        return [clients(cells), *last]
    paired = paired_table.table(spec, cells)
    pairs = [paired] if paired else []
    if spec.customers.lengths:  # no customer buys, and all pages are alike
        return [sessions(cells), *pairs, requests(cells), *last]
    return [headline(cells), *pairs, sessions(cells), *last, table4(cells), table5(cells)]


def of_terminal(tables: Sequence[Table], cells: Sequence[Cell]) -> list[Table]:
    """Return the tables that a terminal prints, ending with the most important table. Tables 4 and
    5 are included only if a cell's conditions are as published."""
    applying = [table for table in tables if not table.title.startswith("Table ") or _beside(cells)]
    return applying[::-1]


_NO_CAPACITY = "No capacity was measured, because a closed loop has no ρ"


def _beside(cells: Sequence[Cell]) -> str:
    """Return `published | measured ` or `published | simulated ` if the conditions of any cell are
    as published, otherwise an empty text."""
    if not any(cell.published for cell in cells):
        return ""
    engines = {s.load_generator.engine for cell in cells for s in cell.summaries}
    return f"published | {'simulated' if 'simulated' in engines else 'measured'} "


def write_tables(folder: ComparisonResult, cells: Sequence[Cell]) -> list[Table]:
    """Write conclusion.json, tables.md and tables.json of a result folder. Return the tables."""
    spec = folder.spec()
    conclusion, tables = conclude(spec, cells), tables_of(spec, cells)
    made, planned = len(folder.whole_runs()), len(folder.plan())
    how = "simulated" if spec.engine == "simulated" else f"time scale {spec.time_scale:g}"
    work = "a FIFO server" if spec.has_fifo_server else f"page profile {spec.page_profile}"
    capacity = folder.capacity()
    intro = [
        f"# {spec.heading}",
        "",
        f"{made} of {planned} runs, {spec.load.words()} each, {spec.repetitions} repetition(s), "
        f"{how}, {work}. {capacity.words() if capacity else _NO_CAPACITY}.",
        "",
        *(f"> {sentence}\n" for sentence in conclusion.sentences),
        *(f"- {line}" for line in conclusion.lines),
        "",
    ]
    text = "\n".join(intro) + "\n" + "\n".join(table.markdown() for table in tables)
    write_json(folder.path / CONCLUSION_FILE, conclusion.model_dump())
    write_text(folder.path / "tables.md", text)
    write_json(folder.path / "tables.json", [asdict(table) for table in tables])
    return tables


_SHADOW_VERDICTS = (
    ("agrees, %", "same"),
    ("would have refused, %", "would_refuse"),
    ("would have let in, %", "would_serve"),
    ("would have served earlier, %", "earlier"),
    ("would have served later, %", "later"),
    ("customer would have left, %", "would_lose"),
)


def shadows(cells: Sequence[Cell]) -> Table | None:
    """Return the decisions of each shadow in the runs of each acting policy; None without shadows.
    Values are in % of the requests that the shadow decided."""
    names = {one["name"]: None for cell in cells for run in _runs_with_shadows(cell) for one in run}
    if not names:
        return None
    found = Table(
        "Decisions of other policies",
        ("", *(cell.heading for cell in cells)),
        note="These policies saw the events of the acting policy's run, but their decisions had no "
        "effect. Values are means per run, in % of the requests that these policies decided. A "
        "policy does not decide the requests of a session that it has refused before. If one of "
        "these policies acted, customers would behave differently. To see this, run a comparison.",
    )
    for name in names:
        for words, count in _SHADOW_VERDICTS:
            texts = (text_of(_shadow_percent(cell, name, count), 1) for cell in cells)
            found.rows.append((f"{title_of(name)}: {words}", *texts))
    return found


def _runs_with_shadows(cell: Cell) -> list[Sequence[Mapping[str, Any]]]:
    return [summary.shadows for summary in cell.summaries if summary.shadows]


def _shadow_percent(cell: Cell, name: str, count: str) -> Estimate | None:
    return estimate_known(
        100 * one["verdicts"][count] / one["asked"]
        for run in _runs_with_shadows(cell)
        for one in run
        if one["name"] == name and one.get("asked")
    )
