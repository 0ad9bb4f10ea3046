"""Ad server: the times of selections, the filled slots, and the unreported deliveries."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, WARNING
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BAD_FROM_1, Steps, lines, number
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, quantile, rate

ADS = "doorbuster_ads"
BY_PRIORITY = {"priority 0": WARNING, "priority 1": ACCENT}
OF_PRIORITY = "priority {{priority}}"
BACKLOG: Steps = ((None, GOOD), (10_000, WARNING), (100_000, BAD))


def board() -> Board:
    return Board(
        "ads",
        "Ad server",
        "The number of selections of banners, the time they take, and the share of slots that get "
        "a banner. A request with a higher priority gets more threads for its search.",
        [
            Part("Now", _now()),
            Part("Selections", _selections()),
            Part("Deliveries", _deliveries()),
            Part("Requests that bypass the gateway's queues", _bypass()),
        ],
    )


def _now() -> list[object]:
    return [
        number(
            "Banners",
            "Contracted banners in the inventory. With more banners, a selection takes longer.",
            "short",
            Ask(f"{ADS}_banners", "", 5),
            wide=6,
        ),
        number(
            "Threads",
            "The number of requests that all processes together can answer at the same time.",
            "short",
            Ask(f"sum({ADS}_threads)", "", 5),
            wide=6,
        ),
        number(
            "Not yet reported",
            "Delivered impressions that are not yet in the database. The number falls to 0 with "
            "every report; if it only grows, the database is unavailable.",
            "short",
            Ask(f"sum({ADS}_unreported_impressions)", "", 5),
            wide=6,
            limits=BACKLOG,
        ),
        number(
            "Reports that failed",
            "Failed exchanges with the database since the ad server started.",
            "short",
            Ask(f'sum({ADS}_reports_total{{outcome="failed"}}) or vector(0)', "", 5),
            wide=6,
            limits=BAD_FROM_1,
        ),
    ]


def _selections() -> list[object]:
    seconds = f"{ADS}_selection_seconds"
    return [
        lines(
            "Selections",
            "Each page with banners causes one selection. If all pages have banners, the rate of "
            "selections equals the rate of pages.",
            "reqps",
            Ask(rate(f"{seconds}_count", by="priority"), OF_PRIORITY, 5),
            stacked=True,
            colours=BY_PRIORITY,
        ),
        lines(
            "Time to choose",
            "Times in real seconds. A page waits for its banners, so this time should stay at a "
            "few milliseconds, even in a rush.",
            "s",
            Ask(quantile(0.5, seconds, by="priority"), f"half, {OF_PRIORITY}", 5),
            Ask(quantile(0.99, seconds, by="priority"), f"99 in 100, {OF_PRIORITY}", 5),
            dashed=("99 in 100, priority 0", "99 in 100, priority 1"),
            limits=((None, GOOD), (0.1, BAD)),
        ),
    ]


def _deliveries() -> list[object]:
    slots, placed = (
        rate(f"{ADS}_{what}_total", by="priority") for what in ("requested_slots", "impressions")
    )
    return [
        lines(
            "Slots filled",
            "The share of the requested slots that got a banner. A slot stays empty "
            "if no matching banner needs impressions now.",
            "percentunit",
            Ask(f"{placed} / {slots}", OF_PRIORITY, 5),
            wide=8,
            most=1.05,
            colours=BY_PRIORITY,
        ),
        lines(
            "Impressions",
            "Placed banners per second: slots per page × pages served per second.",
            "cps",
            Ask(placed, OF_PRIORITY, 5),
            wide=8,
            stacked=True,
            colours=BY_PRIORITY,
        ),
        lines(
            "Clicks",
            "Clicks on banners. People click on banners; the customers of experiments do not.",
            "cps",
            Ask(rate(f"{ADS}_clicks_total"), "clicks", 5),
            wide=8,
            colours={"clicks": GOOD},
        ),
    ]


def _bypass() -> list[object]:
    return [
        lines(
            "Banner requests and clicks at the gateway",
            "These requests bypass the queueing policy, so waiting customers do not delay them.",
            "reqps",
            Ask(
                f"sum(rate(doorbuster_gateway_arrivals_total"
                f'{{{OF}, page="ads"}}[$__rate_interval]))',
                "arrivals",
            ),
        ),
        lines(
            "CPU of the ad server",
            "CPU use of all processes of the ad server, as a share of one processor. The ad server "
            "does not use the shop's processors.",
            "percentunit",
            Ask(rate(f"{ADS}_cpu_seconds_total"), "CPU", 5),
        ),
    ]
