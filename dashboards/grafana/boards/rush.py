"""Rush at a glance: the dashboard for a first look and for a projector."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, OUTCOMES, PAGES, QUANTILES, SOFT, WORK
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BAD_FROM_1, BUSY, lines, number, states
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, quantile, rate

ANSWERED = 'outcome="answered"'
RESPONSE = "doorbuster_gateway_response_paper_seconds"


def board() -> Board:
    """Return the dashboard."""
    return Board(
        "rush",
        "Rush at a glance",
        "Are customers served, how long do they wait, is the shop at its end, and may the "
        "measurement be believed? Response times are paper seconds, everything else is as the "
        "clock on the wall has it.",
        [
            Part("Now", _now()),
            Part("What customers get", _customers()),
            Part("What it costs the shop", _shop()),
            Part("May the measurement be believed?", _honesty()),
            Part("Does the console carry out launches?", _launches()),
        ],
    )


def _now() -> list[object]:
    return [
        number(
            "Run under way",
            "Policy and offered load of the live run, from wherever it was started. ρ = 1 is the "
            "shop's capacity.",
            "none",
            Ask("doorbuster_lab_run_info", "{{policy}}, ρ = {{rho}}", 2),
            words=True,
            wide=6,
            empty="no live run",
        ),
        number(
            "Policy in force",
            "Queueing, admission, and what is done when a customer leaves. It changes with every "
            "run of a comparison, and when somebody switches it.",
            "none",
            Ask(
                f"doorbuster_gateway_policy_info{{{OF}}}",
                "{{policy}}, admission {{admission}}, who leaves: {{abandonment}}",
            ),
            words=True,
            wide=6,
        ),
        number(
            "Order of the queue",
            "FIFO in quiet times; LIFO-Pri and LIFO-at-overload turn to LIFO when the shop's CPU "
            "is at its end.",
            "none",
            Ask(f"doorbuster_gateway_discipline_info{{{OF}}}", "{{discipline}}"),
            words=True,
            wide=3,
        ),
        number(
            "Shop's CPU",
            "In a rush it is at 100 % and stays there: what counts is what it is spent on.",
            "percentunit",
            Ask(f"doorbuster_gateway_shop_cpu_utilisation_ratio{{{OF}}}"),
            wide=3,
            limits=BUSY,
        ),
        number(
            "Waiting",
            "Requests that wait for a worker. Hundreds under FIFO mean that nearly everybody will "
            "have left before their turn.",
            "short",
            Ask(f"sum(doorbuster_gateway_waiting_requests{{{OF}}})"),
            wide=3,
            limits=((None, GOOD), (100, BAD)),
        ),
        number(
            "Confirms",
            "Orders that customers of the run under way saw confirmed: what the shop lives on.",
            "short",
            Ask("sum by (run) (doorbuster_lab_run_confirms_total)", "{{run}}", 2, now=True),
            wide=3,
            digits=0,
        ),
    ]


def _customers() -> list[object]:
    return [
        lines(
            "What becomes of attempts",
            "As the customers see it. In a rush red (they left) grows over green (answered in "
            "time) under SQ; a good policy keeps green near the capacity.",
            "reqps",
            Ask(
                rate("doorbuster_lab_run_attempts_total", 'outcome!="not_generated"', by="outcome"),
                "{{outcome}}",
                2,
            ),
            stacked=True,
            colours=OUTCOMES,
        ),
        lines(
            "Response times of answered requests",
            "At the gateway, in paper seconds. Patience is 8 s and more: FIFO in a rush brings "
            "everybody to that border, LIFO keeps half of them far below.",
            "s",
            Ask(quantile(0.5, RESPONSE, OF, ANSWERED), "half"),
            Ask(quantile(0.9, RESPONSE, OF, ANSWERED), "9 in 10"),
            Ask(quantile(0.99, RESPONSE, OF, ANSWERED), "99 in 100"),
            colours=QUANTILES,
            dashed=("99 in 100",),
            limits=((None, GOOD), (8, BAD)),
        ),
        lines(
            "Waiting, by page",
            "Who waits. Under FIFO nearly all are Br-1, the front door; 8Q-LIFO-Pri empties the "
            "queues of those who buy (Tr-1 to Tr-4) first.",
            "short",
            Ask(f"doorbuster_gateway_waiting_requests{{{OF}}}", "{{page}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Confirms, by run",
            "Since the run began. The steeper its line, the better its policy: all runs of a "
            "comparison have the same customers.",
            "short",
            Ask("sum by (run) (doorbuster_lab_run_confirms_total)", "{{run}}", 2),
        ),
    ]


def _shop() -> list[object]:
    return [
        lines(
            "CPU and workers of the shop",
            "Both at 100 % in a rush. Workers busy and CPU low: the shop waits for its database.",
            "percentunit",
            Ask(f"doorbuster_gateway_shop_cpu_utilisation_ratio{{{OF}}}", "CPU"),
            Ask(
                f"doorbuster_gateway_in_service_requests{{{OF}}} / "
                f"doorbuster_gateway_workers{{{OF}}}",
                "workers",
            ),
            wide=8,
            most=1.05,
            colours={"CPU": ACCENT},
            dashed=("workers",),
        ),
        lines(
            "CPU spent on customers who had left",
            "Share of the shop's CPU, booked when a request ends: a short peak may be above 100 %. "
            "Under FIFO in a rush most of it is wasted; with cancelling next to nothing.",
            "percentunit",
            Ask(
                rate("doorbuster_shop_sentry_cpu_seconds_total", OF, by="work")
                + f" / on() group_left() {rate('doorbuster_shop_cpu_seconds_total', OF)}",
                "{{work}}",
            ),
            wide=8,
            stacked=True,
            most=1,
            colours=WORK,
        ),
        states(
            "Order of the queue, over time",
            "The band of the order that is in force. In a rush LIFO, and FIFO again when it is "
            "over; a flutter between the two means a load at the border.",
            "none",
            Ask(f"doorbuster_gateway_discipline_info{{{OF}}}", "{{discipline}}"),
            names={"1": ("in force", ACCENT), "0": (" ", SOFT)},
            wide=8,
            tall=8,
        ),
    ]


def _honesty() -> list[object]:
    return [
        lines(
            "Load generator behind its schedule",
            "Real seconds, at worst. Above the line (0.05 s) it could not make the rush it was "
            "asked for, and the run says so.",
            "s",
            Ask("doorbuster_lab_run_schedule_lag_seconds", "{{run}}", 2),
            limits=((None, GOOD), (0.05, BAD)),
        ),
        number(
            "Late attempts",
            "Attempts of this run beyond the tolerance. A few do no harm; more than 1 % and the "
            "result is marked.",
            "short",
            Ask("sum(doorbuster_lab_run_late_attempts_total)", "", 2, now=True),
            tall=8,
            limits=((None, GOOD), (1, "#f2cc4a"), (50, BAD)),
        ),
        number(
            "Runs that do not reconcile",
            "Runs in which customers, gateway and shop counted differently: 0, or something is "
            "broken.",
            "short",
            Ask("sum(doorbuster_lab_unreconciled_runs)", "", 2, now=True),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Time scale",
            "Paper seconds in a second on the wall, 10 unless the experiment says otherwise.",
            "none",
            Ask(f"doorbuster_gateway_time_scale_ratio{{{OF}}}"),
            tall=8,
        ),
    ]


def _launches() -> list[object]:
    return [
        lines(
            "Launches of the console",
            "Launches that wait and launches that run. Launches that wait while none runs mean "
            "that no worker takes them.",
            "short",
            Ask(
                'sum by (state) (doorbuster_lab_launches{state=~"queued|running"})', "{{state}}", 2
            ),
            steps=True,
        ),
        number(
            "Workers online",
            "Celery workers of the console that reach the broker. With 0 no launch begins.",
            "short",
            Ask("doorbuster_lab_workers", "", 2, now=True),
            wide=6,
            tall=8,
            limits=((None, BAD), (1, GOOD)),
        ),
        number(
            "Tasks queued",
            "Messages that no worker has taken from the broker. It is near 0 unless the workers "
            "are busy or away.",
            "short",
            Ask("doorbuster_lab_queued_tasks", "", 2, now=True),
            wide=6,
            tall=8,
        ),
    ]
