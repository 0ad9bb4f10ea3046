"""Tables 4 and 5 of LIFO-Pri, published beside measured, the headline over them, sessions, clients.

Owns: what stands in which cell. Must not know: how runs are made; drawing is the terminal's.
"""

from collections.abc import Sequence
from dataclasses import asdict

from lab.experiments import published, shadow_table, wasted_work
from lab.experiments.capacity import of_result
from lab.experiments.cells import Cell
from lab.experiments.honesty import honesty
from lab.experiments.intervals import Estimate, estimate
from lab.experiments.results import ResultFolder, write_json, write_text
from lab.experiments.spec import Spec
from lab.experiments.table import Table

ROWS = {
    "generated": "Generated",
    "completed": "Completed",
    "timed_out": "Timed out",
    "dropped": "Dropped",
    "not_generated": "Not generated (left of 100)",
    "never_asked_for": "Never asked for",
    "other": "Rejected, refused or failed",
}


def headline(cells: Sequence[Cell]) -> Table:
    """What one looks at first: who completes, who sells, how near to the best possible."""
    table = Table(
        "Who sells",
        ("ρ", "Policy", "Completed %", "Confirms", "Bound", "Efficiency",
         "Estimated", "Requests/s", "Br-1 < 5 s"),
        note="Mean of the repetitions ± half-width of the 95 % interval. Confirms and bound are "
        "sums over all repetitions; bound: the best a policy can do that cannot know who will buy, "
        "for LIFO-Pri's chain planned confirms / max(1, ρ); revenue efficiency = confirms / bound. "
        "Few sessions buy, so that confirms scatter; estimated is the same from the worth of the "
        "pages at which sessions failed: (1 − Σ V(that page) / Σ V(Br-1)) × planned confirms / "
        "bound, V = probability of a confirm to come. Requests/s are completed requests per paper "
        "second of the whole run: until the last customer had finished, who sets the time of a "
        "short one.",
    )  # fmt: skip
    for cell in cells:
        efficiency = cell.over_known(lambda run: run.revenue_efficiency_ratio)
        estimated = cell.over_known(lambda run: run.estimated_efficiency_ratio)
        table.rows.append(
            (
                cell.load,
                cell.title,
                cell.over(lambda run: 100 * run.completed_ratio).text(1),
                f"{sum(run.confirms for run in cell.runs)}",
                f"{sum(run.confirm_bound for run in cell.runs):.0f}",
                efficiency.text(2) if efficiency else "no buyer planned",
                estimated.text(2) if estimated else "–",
                cell.over(lambda run: run.throughput_rps).text(2),
                estimate([100 * share for share in cell.quick_share]).text(0) + " %",
            )
        )
    return table


def sessions(cells: Sequence[Cell]) -> Table:
    """Sessions as wholes: who was let in, who got to the end (SBAC's measure)."""
    table = Table(
        "Sessions",
        ("ρ", "Policy", "Arrived", "Rejected %", "Admitted", "Aborted %", "Completed %",
         "Completed % of all", "Mean length of completed", "Useful requests/s", "Useful %"),
        note="Arrived and admitted are means per run. Rejected: turned away with a page at their "
        "first attempt, by admission or by DOOR-FIFO at its door, in % of those that arrived. "
        "Aborted and completed: in % of the admitted; "
        "a session is completed when every request it planned was answered in time. Overload "
        "favours short sessions, so that many completed ones may be little work: useful requests "
        "are those of sessions that completed, per paper second as long as sessions arrived, and "
        "in % of all that were answered in time.",
    )  # fmt: skip
    for cell in cells:
        table.rows.append(
            (
                cell.load,
                cell.title,
                cell.over(lambda run: run.fates.arrived).text(),
                cell.over(lambda run: 100 * run.fates.rejected / run.fates.arrived).text(1),
                cell.over(lambda run: run.fates.admitted).text(),
                _percent(cell.over_known(lambda run: run.fates.aborted_of_admitted_ratio)),
                _percent(cell.over_known(lambda run: run.fates.completed_of_admitted_ratio)),
                cell.over(lambda run: 100 * run.fates.completed_ratio).text(1),
                _or_none(cell.over_known(lambda run: run.fates.mean_completed_length)),
                cell.over(lambda run: run.useful_rps).text(2),
                _percent(cell.over_known(lambda run: run.useful_ratio)),
            )
        )
    return table


def table4(cells: Sequence[Cell]) -> Table:
    """Table 4: attempts by page type, published | measured, per 24,000 sessions."""
    beside = _beside(cells)
    table = Table(
        f"Table 4: requests by type, {beside}per 24,000 sessions",
        ("ρ", "Policy", "Requests", *published.GROUPS),
        note="Generated counts attempts, retries included."
        + (
            " SQ has one queue: the paper prints its generated and dropped requests as totals, "
            "here in the first column. “–”: not published."
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
    """What became of requests, in percent of all that the sessions would have made."""
    table = Table(
        "Requests, in % of all that the sessions planned",
        ("", *(cell.heading for cell in cells)),
        note="Retries are counted too. Turned away: rejected, dropped, refused or failed.",
    )
    for name, figure in (
        ("Completed", lambda run: run.completed_ratio),
        ("Timed out", lambda run: run.timed_out_ratio),
        ("Turned away", lambda run: run.turned_away_ratio),
    ):
        shares = [cell.over(lambda run, figure=figure: 100 * figure(run)) for cell in cells]
        table.rows.append((name, *(share.text(1) for share in shares)))
    return table


def table5(cells: Sequence[Cell]) -> Table:
    """Table 5: percentages, published | measured, a column per policy and ρ."""
    beside = _beside(cells)
    table = Table(
        f"Table 5: percent of requests, {beside}".removesuffix(", ").rstrip(),
        ("", *(cell.heading for cell in cells)),
        note="As in the paper, over the browsing requests of the full sessions when ρ > 1 (over "
        "all requests below). Dropped takes in all that were turned away or failed. Not generated "
        "is the paper's row: what the three above leave of 100. They count retries and purchases, "
        "which those requests do not, so it is too small, and below 0 where many come again; "
        "Never asked for is the share of those requests that no customer ever sent."
        + (" “–”: not published." if beside else ""),
    )
    for row in ("completed", "timed_out", "dropped", "not_generated", "never_asked_for"):
        columns = []
        for cell in cells:
            paper = published.table5(cell.rho, cell.published) if cell.published else {}
            theirs = f"{paper[row]:g}" if row in paper else "–"
            ours = cell.over(lambda run, row=row: run.table5()[row]).text(1)  # type: ignore[misc]
            columns.append(f"{theirs} | {ours}" if beside else ours)
        table.rows.append((ROWS[row], *columns))
    return table


def clients(cells: Sequence[Cell]) -> Table:
    """What each set of clients got, by class of request (Connection Sentry, Tables 1 to 4)."""
    table = Table(
        "Requests of clients by class",
        ("Policy", "Set", "Class", "Served", "Mean latency s", "p95 s", "Left", "Turned away"),
        note="Mean of the repetitions ± half-width of the 95 % interval; paper seconds. The "
        "control set never leaves: it is what the paper measures. Latency is that of requests "
        "served; of the test set those alone are fast who were not left, so read the control set. "
        "Left: attempts whose client had no patience more; reloads are attempts of their own.",
    )
    for cell in cells:
        for part in dict.fromkeys(part for sets in cell.clients for part in sets):
            served, latency, p95, left, turned_away = (
                cell.over_clients(part, figure)
                for figure in (
                    lambda got: got.served,
                    lambda got: got.latency_s,
                    lambda got: got.p95_s,
                    lambda got: got.left,
                    lambda got: got.turned_away,
                )
            )
            table.rows.append(
                (
                    cell.title,
                    part.clients,
                    part.kind,
                    served.text() if served else "none",
                    latency.text(2) if latency else "none",
                    p95.text(2) if p95 else "none",
                    left.text() if left else "none",
                    turned_away.text() if turned_away else "none",
                )
            )
    return table


def tables_of(spec: Spec, cells: Sequence[Cell]) -> list[Table]:
    """What there is to show of these runs, the most important first."""
    found = (wasted_work.table(spec, cells), shadow_table.table(cells))
    last = [table for table in found if table is not None]
    if spec.clients:
        return [clients(cells), *last]
    if spec.customers.lengths:  # nobody buys, and pages are all alike
        return [sessions(cells), requests(cells), *last]
    guarded = any(not policy.is_pure_queueing for policy in spec.policy)
    return [
        headline(cells),
        *([sessions(cells)] if guarded else []),
        *last,
        table4(cells),
        table5(cells),
    ]


_NO_CAPACITY = "No capacity is measured, for a closed loop has no ρ"


def _beside(cells: Sequence[Cell]) -> str:
    """`published | measured ` where the paper has figures for any of the cells."""
    if not any(cell.published for cell in cells):
        return ""
    engines = {s["load_generator"].get("engine") for cell in cells for s in cell.summaries}
    return f"published | {'simulated' if 'simulated' in engines else 'measured'} "


def _or_none(found: Estimate | None) -> str:
    return found.text(1) if found else "none"


def _percent(found: Estimate | None) -> str:
    if found is None:
        return "none"
    half = None if found.half_width is None else 100 * found.half_width
    return Estimate(100 * found.mean, half).text(1)


def write_tables(folder: ResultFolder, cells: Sequence[Cell]) -> list[Table]:
    """tables.md and tables.json of a result folder; returns the tables."""
    spec = folder.spec()
    tables = tables_of(spec, cells)
    made, planned = len(folder.whole_runs()), len(folder.plan())
    how = "simulated" if spec.engine == "simulated" else f"time scale {spec.time_scale:g}"
    work = "a FIFO server" if spec.has_fifo_server else f"page profile {spec.page_profile}"
    capacity = of_result(folder)
    intro = [
        f"# {spec.heading}",
        "",
        f"{made} of {planned} runs, {spec.load.words()} each, {spec.repetitions} repetition(s), "
        f"{how}, {work}. {capacity.words() if capacity else _NO_CAPACITY}.",
        "",
        *(f"- {line}" for line in honesty(cells)),
        "",
    ]
    text = "\n".join(intro) + "\n" + "\n".join(table.markdown() for table in tables)
    write_text(folder.path / "tables.md", text)
    write_json(folder.path / "tables.json", [asdict(table) for table in tables])
    return tables
