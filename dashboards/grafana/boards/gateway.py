"""Gateway and policies: queues, priorities, fates of requests, connections."""

from dashboards.grafana.boards.rush import ANSWERED, RESPONSE
from dashboards.grafana.colours import BAD, GOOD, OUTCOMES, PAGES
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BAD_FROM_1, BUSY, bars, heat, lines, number
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, quantile, rate

_SHADOWS = "doorbuster_gateway_shadow_requests_total"


def board() -> Board:
    """Return the dashboard."""
    return Board(
        "gateway",
        "Gateway and policies",
        "What the queueing policy does: who waits where, who is served next, who is turned away. "
        "Response times are paper seconds.",
        [
            Part("Policy", _policy()),
            Part("Queues", _queues()),
            Part("Requests", _requests()),
            Part("Connections", _connections()),
            Part("The gateway itself", _itself()),
        ],
    )


def _policy() -> list[object]:
    return [
        number(
            "Policy in force",
            "The queueing policy. Every run of a comparison puts its own in force.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{policy}}"),
            words=True,
            wide=6,
        ),
        number(
            "Admission, of sessions",
            "Who may begin a session; none where everybody may.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{admission}}"),
            words=True,
        ),
        number(
            "Admission, of connections",
            "Who gets in by TLS: everybody, or as many new connections as EAC can take.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{connection_admission}}"),
            words=True,
        ),
        number(
            "Who leaves",
            "ignore: their requests keep their place. drop-queued: they are taken out of the "
            "queue. cancel: what runs for them is stopped, too.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{abandonment}}"),
            words=True,
        ),
        number(
            "Order",
            "FIFO in quiet times, LIFO in a rush, for the policies that turn.",
            "none",
            Ask(f"doorbuster_gateway_discipline_info{{{OF}}}", "{{discipline}}"),
            words=True,
            wide=3,
        ),
        number(
            "Changes of order",
            "Since the policy was put in. A few at the border of overload; hundreds mean that its "
            "thresholds are too near each other.",
            "short",
            Ask(f"doorbuster_gateway_discipline_switches_total{{{OF}}}"),
            wide=3,
            digits=0,
        ),
        lines(
            "Shadows agree",
            "Policies that run beside the one in force without acting: the share of the requests "
            "they are asked about on which they decide alike. 1 beside itself; two good policies "
            "agree in quiet times and part in a rush.",
            "percentunit",
            Ask(
                rate(_SHADOWS, OF, 'verdict="same"', by="policy")
                + " / "
                + rate(_SHADOWS, OF, 'verdict!="absent"', by="policy"),
                "{{policy}}",
            ),
        ),
        lines(
            "Shadows would have refused, or let in",
            "Requests that were served and a shadow would have turned away, and the other way "
            "round.",
            "reqps",
            Ask(
                rate(_SHADOWS, OF, 'verdict=~"would_refuse|would_serve"', by="policy, verdict"),
                "{{policy}} {{verdict}}",
            ),
        ),
    ]


def _queues() -> list[object]:
    return [
        lines(
            "In each queue",
            "SQ has one, the 8Q policies one for each page. In a rush the queue of Br-1 is full "
            "and, under a good policy, those of Tr-1 to Tr-4 stay nearly empty.",
            "short",
            Ask(f"doorbuster_gateway_queue_requests{{{OF}}}", "{{queue}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Priority N × U",
            "8Q policies serve the queue where requests waiting × utility is highest. In a rush "
            "the line of Br-1 climbs by sheer numbers until it is served, too.",
            "short",
            Ask(f"doorbuster_gateway_queue_priority{{{OF}}}", "{{queue}}"),
            colours=PAGES,
        ),
        bars(
            "How full the queues are",
            "1 is full: whoever comes then is dropped.",
            "percentunit",
            Ask(
                f"doorbuster_gateway_queue_requests{{{OF}}} / "
                f"doorbuster_gateway_queue_capacity_requests{{{OF}}}",
                "{{queue}}",
            ),
            most=1,
            limits=BUSY,
        ),
        lines(
            "Arrivals, by page",
            "Retries of those who gave up are among them: in a rush more arrive than customers "
            "come.",
            "reqps",
            Ask(rate("doorbuster_gateway_arrivals_total", OF, by="page"), "{{page}}"),
            wide=8,
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Given to a worker, by page",
            "In a rush the sum stays at the capacity; which pages it is made of is the policy.",
            "reqps",
            Ask(rate("doorbuster_gateway_dispatches_total", OF, by="page"), "{{page}}"),
            wide=8,
            stacked=True,
            colours=PAGES,
        ),
    ]


def _requests() -> list[object]:
    left = "doorbuster_gateway_abandonments"
    return [
        heat(
            "Response times of answered requests",
            "Paper seconds. FIFO in a rush: one bright band at the end of patience. LIFO: a bright "
            "band at the bottom, and a thin veil of the unlucky above.",
            "s",
            Ask(
                rate(f"{RESPONSE}_bucket", OF, ANSWERED, by="le"),
                "{{le}}",
                buckets=True,
            ),
        ),
        lines(
            "What became of requests",
            "answered: in time. orphaned: served to the end though the customer had left. "
            "cancelled, withdrawn: stopped, taken out of the queue. dropped: the queue was full.",
            "reqps",
            Ask(rate(f"{RESPONSE}_count", OF, by="outcome"), "{{outcome}}"),
            tall=9,
            stacked=True,
            colours=OUTCOMES,
        ),
        lines(
            "9 in 10 answered within, by page",
            "Paper seconds. 8Q-LIFO-Pri keeps the pages of buyers low at the cost of the front "
            "door.",
            "s",
            Ask(quantile(0.9, RESPONSE, OF, ANSWERED, by="page"), "{{page}}"),
            wide=8,
            colours=PAGES,
        ),
        lines(
            "Customers who leave",
            "While they waited, and while they were served: in a rush under FIFO nearly as many "
            "as arrive.",
            "cps",
            Ask(rate(f"{left}_waiting_total", OF), "waiting"),
            Ask(rate(f"{left}_in_service_total", OF), "in service"),
            Ask(rate("doorbuster_gateway_withdrawals_total", OF), "withdrawn from the queue"),
            wide=8,
            colours={"waiting": BAD, "in service": "#ffab63"},
            dashed=("withdrawn from the queue",),
        ),
        lines(
            "Answers of the gateway's own",
            "503 for who is dropped or rejected; none in quiet times.",
            "cps",
            Ask(rate("doorbuster_gateway_refusals_total", OF, by="status"), "{{status}}"),
            wide=8,
        ),
    ]


def _connections() -> list[object]:
    gate = "doorbuster_gateway_connection_admission"
    return [
        lines(
            "Open connections",
            "Of customers, and to the shop: never more than it has workers.",
            "short",
            Ask(f"doorbuster_gateway_customer_connections{{{OF}}}", "customers"),
            Ask(f"doorbuster_gateway_shop_connections{{{OF}}}", "shop"),
            Ask(f"doorbuster_gateway_tls_handshakes_under_way{{{OF}}}", "TLS handshakes"),
            wide=8,
            dashed=("shop",),
        ),
        lines(
            "TLS connections",
            "New ones cost many times the CPU of resumed ones. Under EAC in a rush new ones are "
            "refused and resumed ones never.",
            "cps",
            Ask(
                rate("doorbuster_gateway_tls_connections_total", OF, by="kind, outcome"),
                "{{kind}}, {{outcome}}",
            ),
            wide=8,
            colours={"resumed, accepted": GOOD, "new, refused": BAD},
        ),
        lines(
            "Connections that EAC expects and can take",
            "In the next interval. In a rush expected new ones are above what is acceptable. No "
            "data: EAC is not in force.",
            "short",
            Ask(f"{gate}_predicted_connections{{{OF}}}", "expected, {{kind}}"),
            Ask(f"{gate}_acceptable_connections{{{OF}}}", "acceptable, new"),
            wide=8,
            dashed=("acceptable, new",),
        ),
    ]


def _itself() -> list[object]:
    return [
        lines(
            "CPU of the gateway",
            "Of one processor. Far below 100 %, or the gateway is the bottleneck and not the shop.",
            "percentunit",
            Ask(
                rate("process_cpu_seconds_total", 'job="gateway"', by="application"),
                "{{application}}",
            ),
            limits=((None, GOOD), (0.8, BAD)),
        ),
        number(
            "Beyond the limit",
            "Connections that were turned away as there were too many.",
            "short",
            Ask(f"doorbuster_gateway_turned_away_connections_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Load samples missed",
            "The shop did not say how busy it is: policies that go by its CPU are blind then.",
            "short",
            Ask(f"doorbuster_gateway_load_failures_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Overdue cancels",
            "Requests the shop did not end in time though their customers had left.",
            "short",
            Ask(f"doorbuster_gateway_overdue_cancels_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
    ]
