"""Rush at a glance: the overview dashboard, also for a projector."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, OUTCOMES, PAGES, QUANTILES, SOFT, WORK
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BAD_FROM_1, BUSY, lines, number, states
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, quantile, rate

ANSWERED = 'outcome="answered"'
RESPONSE = "doorbuster_gateway_response_paper_seconds"


def board() -> Board:
    return Board(
        "rush",
        "Rush at a glance",
        "This dashboard shows whether customers are served, how long they wait, how busy the "
        "shop is, and whether the measurement is sound. Response times are in paper seconds; all "
        "other times are in real seconds.",
        [
            Part("Now", _now()),
            Part("Service for customers", _customers()),
            Part("Work of the shop", _shop()),
            Part("Is the measurement sound?", _honesty()),
            Part("Does the console carry out launches?", _launches()),
        ],
    )


def _now() -> list[object]:
    return [
        number(
            "Run in progress",
            "Policy and offered load of the live run, started in the console or in a terminal. "
            "ρ = 1 is the shop's capacity.",
            "none",
            Ask("doorbuster_lab_run_info", "{{policy}}, ρ = {{rho}}", 2),
            words=True,
            wide=6,
            empty="no live run",
        ),
        number(
            "Policy in force",
            "The queueing policy, the admission policy, and the abandonment setting. They can "
            "change with every run of a comparison, and when you switch the policy in the console.",
            "none",
            Ask(
                f"doorbuster_gateway_policy_info{{{OF}}}",
                "{{policy}}, admission {{admission}}, abandonment {{abandonment}}",
            ),
            words=True,
            wide=6,
        ),
        number(
            "Order of the queue",
            "The order of service. LIFO-at-overload and the browsing queues of 8Q-LIFO-Pri use "
            "FIFO under normal load, and switch to LIFO when the shop's CPU is at about 100 %.",
            "none",
            Ask(f"doorbuster_gateway_discipline_info{{{OF}}}", "{{discipline}}"),
            words=True,
            wide=3,
        ),
        number(
            "Shop's CPU",
            "In a rush, the CPU stays at 100 %; the policy decides which work it does.",
            "percentunit",
            Ask(f"doorbuster_gateway_shop_cpu_utilisation_ratio{{{OF}}}"),
            wide=3,
            limits=BUSY,
        ),
        number(
            "Waiting",
            "Requests that wait for a worker. If hundreds of requests wait under FIFO, most "
            "customers leave before their requests are served.",
            "short",
            Ask(f"sum(doorbuster_gateway_waiting_requests{{{OF}}})"),
            wide=3,
            limits=((None, GOOD), (100, BAD)),
        ),
        number(
            "Confirms",
            "Completed purchases of the run in progress.",
            "short",
            Ask("sum by (run) (doorbuster_lab_run_confirms_total)", "{{run}}", 2, now=True),
            wide=3,
            digits=0,
        ),
    ]


def _customers() -> list[object]:
    return [
        lines(
            "Outcomes of attempts",
            "Attempts, as the customers see them. Under SQ in a rush, there is more red (the "
            "customer left) than green (answered in time). A good policy keeps the green area near "
            "the capacity.",
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
            "Times in paper seconds, measured at the gateway. By default, customers wait for at "
            "least 8 s. In a rush under FIFO, nearly all answers take 8 s or more. Under LIFO, "
            "half of the answers are far faster.",
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
            "Waiting requests, by page. Under FIFO, most are for Br-1, the home page. 8Q-LIFO-Pri "
            "serves the queues of buyers (Tr-1 to Tr-4) first.",
            "short",
            Ask(f"doorbuster_gateway_waiting_requests{{{OF}}}", "{{page}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Confirms, by run",
            "Confirms since the start of the run. Runs with the same load and seed have the same "
            "customers; among these runs, the steepest line belongs to the best policy.",
            "short",
            Ask("sum by (run) (doorbuster_lab_run_confirms_total)", "{{run}}", 2),
        ),
    ]


def _shop() -> list[object]:
    return [
        lines(
            "CPU and workers of the shop",
            "In a rush, the CPU is at 100 %. All workers are busy, too, unless the policy has a "
            "concurrency limit. If the workers are busy but the CPU is not, the shop waits for "
            "its database.",
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
            "The share of the shop's CPU time that was spent on requests whose customers left. "
            "Wasted time was spent after the customer had left, and cancelling can save it. Kept "
            "time was spent after the customer had left, on work that had to be finished. "
            "Unanswered time was spent before the customer left. The time is counted when a "
            "request ends, so a short peak may be above 100 %. In a rush under FIFO, most of the "
            "time is wasted; with cancelling, almost none is.",
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
            "Policies that switch use LIFO in a rush, and FIFO again afterwards. Many changes "
            "mean that the load is close to the threshold.",
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
            "The largest delay of the last second, in real seconds. Above the line (0.05 s), the "
            "load generator could not send the planned rush on time, and the run reports this.",
            "s",
            Ask("doorbuster_lab_run_schedule_lag_seconds", "{{run}}", 2),
            limits=((None, GOOD), (0.05, BAD)),
        ),
        number(
            "Late attempts",
            "Attempts of this run that started too late. A few late attempts do no harm, but the "
            "lab marks a result with more than 1 % of them.",
            "short",
            Ask("sum(doorbuster_lab_run_late_attempts_total)", "", 2, now=True),
            tall=8,
            limits=((None, GOOD), (1, "#f2cc4a"), (50, BAD)),
        ),
        number(
            "Runs that do not reconcile",
            "Runs of the newest five experiments in which customers, gateway and shop have "
            "different counts. There should be none.",
            "short",
            Ask("sum(doorbuster_lab_unreconciled_runs)", "", 2, now=True),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Time scale",
            "The number of paper seconds in one real second, which is 10 unless the experiment "
            "sets another number.",
            "none",
            Ask(f"doorbuster_gateway_time_scale_ratio{{{OF}}}"),
            tall=8,
        ),
    ]


def _launches() -> list[object]:
    return [
        lines(
            "Launches of the console",
            "Waiting and running launches. If launches wait and no launch runs, no worker accepts "
            "launches.",
            "short",
            Ask(
                'sum by (state) (doorbuster_lab_launches{state=~"queued|running"})', "{{state}}", 2
            ),
            steps=True,
        ),
        number(
            "Workers online",
            "Workers of the console that reach the Celery broker. Without a worker, no launch "
            "begins.",
            "short",
            Ask("doorbuster_lab_workers", "", 2, now=True),
            wide=6,
            tall=8,
            limits=((None, BAD), (1, GOOD)),
        ),
        number(
            "Tasks queued",
            "Messages that no worker has taken from the broker. The number is near 0 unless the "
            "workers are busy or unavailable.",
            "short",
            Ask("doorbuster_lab_queued_tasks", "", 2, now=True),
            wide=6,
            tall=8,
        ),
    ]
