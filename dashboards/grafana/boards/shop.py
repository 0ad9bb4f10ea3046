"""Shop and database: the cost of pages, wasted work, PostgreSQL and Redis."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, PAGES, SOFT, WARNING, WORK
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BUSY, lines, number
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, rate

SCALE = f"* on() group_left() max(doorbuster_shop_time_scale_ratio{{{OF}}})"
"""PromQL: live seconds become paper seconds."""

SERVED = rate("doorbuster_shop_pages_served_total", OF, by="page")
SENTRY = "doorbuster_shop_sentry"


def board() -> Board:
    """Return the dashboard."""
    return Board(
        "shop",
        "Shop and database",
        "What a page costs, what of it is wasted on customers who have left, and whether the "
        "database keeps up. Times of pages are paper seconds.",
        [
            Part("The shop", _shop()),
            Part("Pages", _pages()),
            Part("Wasted work", _waste()),
            Part("PostgreSQL and Redis", _stores()),
            Part("The machine", _machine()),
        ],
    )


def _shop() -> list[object]:
    return [
        number(
            "CPU",
            "Of the shop's processors, by the gateway's newest sample. At 100 % in a rush.",
            "percentunit",
            Ask(f"doorbuster_gateway_shop_cpu_utilisation_ratio{{{OF}}}"),
            wide=5,
            limits=BUSY,
        ),
        number(
            "Busy workers",
            "Threads that work on a request. All of them in a rush, 30 unless it is set otherwise.",
            "short",
            Ask(f"doorbuster_shop_busy_workers{{{OF}}}"),
            wide=5,
        ),
        number(
            "Orders",
            "Committed since the shop was started, by customers and people alike.",
            "short",
            Ask(f"doorbuster_shop_orders_total{{{OF}}}"),
            wide=4,
            digits=0,
        ),
        number(
            "Books",
            "In the catalogue: an experiment may ask for half a million, to make searching dear.",
            "short",
            Ask(f"doorbuster_shop_books{{{OF}}}"),
            wide=4,
        ),
        number(
            "Page work and sentry",
            "paper: as the paper's pages cost. real: what the queries cost by themselves. The "
            "sentry watches who leaves, or cancels their work.",
            "none",
            Ask(
                f"doorbuster_shop_settings_info{{{OF}}}",
                "{{profile}}, sentry {{sentry}}, banners {{ads}}",
            ),
            words=True,
            wide=6,
        ),
    ]


def _pages() -> list[object]:
    def mean(title: str, says: str, what: str) -> object:
        spent = rate(f"doorbuster_shop_page_{what}_seconds_total", OF, by="page")
        asked = Ask(f"{spent} / {SERVED} {SCALE}", "{{page}}")
        return lines(title, f"Paper seconds. {says}", "s", asked, wide=6, colours=PAGES)

    return [
        lines(
            "Pages served",
            "In a rush the sum stays at the capacity; the more of it is Tr-1 to Tr-4, the better.",
            "reqps",
            Ask(SERVED, "{{page}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Orders, per second",
            "Committed by the shop. In a rush under SQ hardly any: a buyer needs four pages more.",
            "cps",
            Ask(rate("doorbuster_shop_orders_total", OF), "orders"),
            colours={"orders": GOOD},
        ),
        mean(
            "Mean execution time",
            "0.2 to 0.5 s alone; in a rush up to 30 pages share the CPU and each "
            "takes many times as long.",
            "execution",
        ),
        mean(
            "Mean CPU",
            "The same in a rush as in quiet times: if it climbs, something else "
            "uses the shop's CPU.",
            "cpu",
        ),
        mean(
            "Mean wait for PostgreSQL and Redis",
            "Page work's own waits left out. Near 0 in profile paper; if it climbs "
            "in a rush, the database is the bottleneck.",
            "back_end_wait",
        ),
        lines(
            "Queries of a page",
            "Of the database. A constant for each page, in a rush as in quiet times.",
            "short",
            Ask(
                rate("doorbuster_shop_page_queries_total", OF, by="page") + f" / {SERVED}",
                "{{page}}",
            ),
            wide=6,
            colours=PAGES,
        ),
    ]


def _waste() -> list[object]:
    of_all = f" / on() group_left() {rate('doorbuster_shop_cpu_seconds_total', OF)}"
    return [
        lines(
            "CPU spent in vain",
            "Share of the shop's CPU. wasted: after the customer had left, what cancelling saves. "
            "kept: the same on what had to be finished. unanswered: before they left, on what was "
            "then never answered. Booked when a request ends: a short peak may be above 100 %. "
            "Under FIFO in a rush wasted is most of it.",
            "percentunit",
            Ask(rate(f"{SENTRY}_cpu_seconds_total", OF, by="work") + of_all, "{{work}}"),
            wide=8,
            stacked=True,
            most=1,
            colours=WORK,
        ),
        lines(
            "Database seconds spent in vain",
            "Seconds that pages waited for results, in each second. More than 1: several at a "
            "time. With cancelling in force near 0.",
            "short",
            Ask(rate(f"{SENTRY}_database_seconds_total", OF, by="work"), "{{work}}"),
            wide=8,
            stacked=True,
            colours=WORK,
        ),
        lines(
            "Customers who left while served",
            "What became of their requests: interrupted by the sentry, or finished for nobody.",
            "cps",
            Ask(rate(f"{SENTRY}_disconnects_total", OF), "left"),
            Ask(rate(f"{SENTRY}_requests_total", OF, by="outcome"), "{{outcome}}"),
            wide=8,
            colours={"left": SOFT, "interrupted": GOOD, "finished": BAD},
            dashed=("left",),
        ),
        lines(
            "Cancelled queries",
            "effective: ended by it. too_late: over before. failed: could not be sent; that is a "
            "fault.",
            "cps",
            Ask(rate(f"{SENTRY}_cancels_attempted_total", OF), "attempted"),
            Ask(rate(f"{SENTRY}_cancels_total", OF, by="outcome"), "{{outcome}}"),
            colours={"effective": GOOD, "too_late": WARNING, "failed": BAD, "attempted": SOFT},
            dashed=("attempted",),
        ),
        lines(
            "Requests watched",
            "Whose customer's connection the sentry looks at: as many as are in service.",
            "short",
            Ask(f"{SENTRY}_watched_requests{{{OF}}}", "watched"),
        ),
    ]


def _stores() -> list[object]:
    blocks = "pg_stat_database_blks"
    return [
        lines(
            "Connections of PostgreSQL",
            "By what they do. active near the number of processors is normal; near the limit "
            "(dashed) nobody gets another.",
            "short",
            Ask("sum by (state) (pg_stat_activity_count)", "{{state}}", 5),
            Ask("max(pg_settings_max_connections)", "limit", 5),
            colours={"active": ACCENT, "idle": SOFT, "idle in transaction": WARNING, "limit": BAD},
            dashed=("limit",),
        ),
        lines(
            "Transactions of PostgreSQL",
            "Committed and rolled back. Rollbacks in a rush: cancelled work, with cancelling in "
            "force; otherwise a fault.",
            "cps",
            Ask(rate("pg_stat_database_xact_commit"), "committed", 5),
            Ask(rate("pg_stat_database_xact_rollback"), "rolled back", 5),
            colours={"committed": GOOD, "rolled back": BAD},
        ),
        lines(
            "Blocks found in memory",
            "Share. Near 100 %: the whole shop fits; less after the catalogue has grown.",
            "percentunit",
            Ask(
                f"{rate(f'{blocks}_hit')} / ({rate(f'{blocks}_hit')} + {rate(f'{blocks}_read')})",
                "in memory",
                5,
            ),
            wide=8,
            most=1,
        ),
        lines(
            "Redis, commands",
            "Sessions of the shop: some for each page.",
            "cps",
            Ask(rate("redis_commands_processed_total"), "commands", 5),
            wide=8,
        ),
        lines(
            "Redis, memory",
            "Grows with the customers' sessions, and is given back when they expire.",
            "bytes",
            Ask("redis_memory_used_bytes", "used", 5),
            wide=8,
        ),
    ]


def _machine() -> list[object]:
    return [
        lines(
            "Processors",
            "How busy each is. The shop's own is at 100 % in a rush; the others must not be, or "
            "the measurement measures them.",
            "percentunit",
            Ask(
                'sum by (cpu) (rate(node_cpu_seconds_total{mode!="idle"}[$__rate_interval]))',
                "CPU {{cpu}}",
                5,
            ),
            most=1.05,
            limits=((None, GOOD), (0.98, BAD)),
        ),
        lines(
            "Memory available",
            "Of the machine. It must not fall towards 0: a machine that swaps measures nothing.",
            "bytes",
            Ask("node_memory_MemAvailable_bytes", "available", 5),
        ),
    ]
