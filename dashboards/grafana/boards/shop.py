"""Shop and database: the cost of pages, wasted work, PostgreSQL and Redis."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, PAGES, SOFT, WARNING, WORK
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BUSY, lines, number
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, rate

SCALE = f"* on() group_left() max(doorbuster_shop_time_scale_ratio{{{OF}}})"
"""The factor, in PromQL, that converts real seconds to paper seconds."""

SERVED = rate("doorbuster_shop_pages_served_total", OF, by="page")
SENTRY = "doorbuster_shop_sentry"


def board() -> Board:
    return Board(
        "shop",
        "Shop and database",
        "The cost of pages, the work that is wasted on customers who have left, and the load of "
        "the database. Page times are in paper seconds.",
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
            "Utilisation of the shop's processors in the gateway's latest sample. It is at 100 "
            "% in a rush.",
            "percentunit",
            Ask(f"doorbuster_gateway_shop_cpu_utilisation_ratio{{{OF}}}"),
            wide=5,
            limits=BUSY,
        ),
        number(
            "Busy workers",
            "Threads that work on a request. In a rush, all threads do, unless the policy has a "
            "concurrency limit.",
            "short",
            Ask(f"doorbuster_shop_busy_workers{{{OF}}}"),
            wide=5,
        ),
        number(
            "Orders",
            "Orders since the shop started, of simulated customers and of people.",
            "short",
            Ask(f"doorbuster_shop_orders_total{{{OF}}}"),
            wide=4,
            digits=0,
        ),
        number(
            "Books",
            "Books in the catalogue. An experiment may use half a million, to make searching "
            "expensive.",
            "short",
            Ask(f"doorbuster_shop_books{{{OF}}}"),
            wide=4,
        ),
        number(
            "Page work and sentry",
            "With profile paper, pages take as long as in the paper. With profile real, pages cost "
            "only their own queries and code. The sentry cancels the work for customers who have "
            "left (cancel), only counts it (watch), or does nothing (off).",
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
        return lines(title, f"Times in paper seconds. {says}", "s", asked, wide=6, colours=PAGES)

    return [
        lines(
            "Pages served",
            "In a rush, the sum over all pages stays at the shop's capacity. A good policy gives a "
            "large share of this capacity to Tr-1 to Tr-4.",
            "reqps",
            Ask(SERVED, "{{page}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Orders, per second",
            "Orders that the shop stored. Under SQ, there are hardly any in a rush, because an "
            "order needs a sequence of several pages.",
            "cps",
            Ask(rate("doorbuster_shop_orders_total", OF), "orders"),
            colours={"orders": GOOD},
        ),
        mean(
            "Mean execution time",
            "With profile paper, a page alone takes 0.2 to 0.5 s. In a rush, up to 30 pages share "
            "the CPU, and each takes many times longer.",
            "execution",
        ),
        mean(
            "Mean CPU",
            "The CPU time of a page should be equal in a rush and in quiet times. If it rises in a "
            "rush, another program uses the shop's CPU.",
            "cpu",
        ),
        mean(
            "Mean wait for PostgreSQL and Redis",
            "The waits of page work are not included. The wait is near 0 with profile paper. If it "
            "rises in a rush, the database is the bottleneck.",
            "back_end_wait",
        ),
        lines(
            "Queries of a page",
            "Database queries per page. This number is the same in a rush and in quiet times.",
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
            "CPU spent on unanswered requests",
            "Shares of the shop's CPU time. Wasted time was spent after the customer had left, and "
            "cancelling can save it. Kept time was spent after the customer had left, on work that "
            "had to be finished. Unanswered time was spent before the customer left. The time is "
            "counted when a request ends, so a short peak may be above 100 %. Under FIFO in a "
            "rush, most of the time is wasted.",
            "percentunit",
            Ask(rate(f"{SENTRY}_cpu_seconds_total", OF, by="work") + of_all, "{{work}}"),
            wide=8,
            stacked=True,
            most=1,
            colours=WORK,
        ),
        lines(
            "Database time spent on unanswered requests",
            "The seconds per second that unanswered requests waited for query results. The value "
            "can be above 1, because several pages can wait at the same time. With cancelling, the "
            "wasted time is near 0.",
            "short",
            Ask(rate(f"{SENTRY}_database_seconds_total", OF, by="work"), "{{work}}"),
            wide=8,
            stacked=True,
            colours=WORK,
        ),
        lines(
            "Customers who left while they were served",
            "Requests by outcome: interrupted by the sentry, or finished without a customer.",
            "cps",
            Ask(rate(f"{SENTRY}_disconnects_total", OF), "left"),
            Ask(rate(f"{SENTRY}_requests_total", OF, by="outcome"), "{{outcome}}"),
            wide=8,
            colours={"left": SOFT, "interrupted": GOOD, "finished": BAD},
            dashed=("left",),
        ),
        lines(
            "Cancelled queries",
            "effective: the attempt ended the query. too_late: the query had already ended. "
            "failed: the attempt could not be sent, which is a fault.",
            "cps",
            Ask(rate(f"{SENTRY}_cancels_attempted_total", OF), "attempted"),
            Ask(rate(f"{SENTRY}_cancels_total", OF, by="outcome"), "{{outcome}}"),
            colours={"effective": GOOD, "too_late": WARNING, "failed": BAD, "attempted": SOFT},
            dashed=("attempted",),
        ),
        lines(
            "Requests watched",
            "Requests whose connections the sentry watches: all requests in service.",
            "short",
            Ask(f"{SENTRY}_watched_requests{{{OF}}}", "watched"),
        ),
    ]


def _stores() -> list[object]:
    blocks = "pg_stat_database_blks"
    return [
        lines(
            "Connections of PostgreSQL",
            "Connections, by state. Each worker of the shop keeps a connection, which is idle most "
            "of the time. At the limit (dashed), PostgreSQL refuses further connections.",
            "short",
            Ask("sum by (state) (pg_stat_activity_count)", "{{state}}", 5),
            Ask("max(pg_settings_max_connections)", "limit", 5),
            colours={"active": ACCENT, "idle": SOFT, "idle in transaction": WARNING, "limit": BAD},
            dashed=("limit",),
        ),
        lines(
            "Transactions of PostgreSQL",
            "Committed transactions, and transactions rolled back: cancelled work, and orders that "
            "cannot be placed. Any other rollback is a fault.",
            "cps",
            Ask(rate("pg_stat_database_xact_commit"), "committed", 5),
            Ask(rate("pg_stat_database_xact_rollback"), "rolled back", 5),
            colours={"committed": GOOD, "rolled back": BAD},
        ),
        lines(
            "Blocks found in memory",
            "The share of blocks that PostgreSQL found in memory. This share is near 100 % if all "
            "data of the shop fits into memory. It is lower if the catalogue is larger than "
            "this.",
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
            "Redis commands for the shop's sessions: a few for each page.",
            "cps",
            Ask(rate("redis_commands_processed_total"), "commands", 5),
            wide=8,
        ),
        lines(
            "Redis, memory",
            "The memory grows with the customers' sessions, and shrinks when they expire.",
            "bytes",
            Ask("redis_memory_used_bytes", "used", 5),
            wide=8,
        ),
    ]


def _machine() -> list[object]:
    return [
        lines(
            "Processors",
            "Utilisation of each processor. The shop's processor is at 100 % in a rush. The other "
            "processors must stay below 100 %; otherwise the measurement shows their limits, not "
            "the shop's.",
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
            "Available memory of the machine. The line must not fall towards 0, because a "
            "measurement on a machine that swaps is not valid.",
            "bytes",
            Ask("node_memory_MemAvailable_bytes", "available", 5),
        ),
    ]
