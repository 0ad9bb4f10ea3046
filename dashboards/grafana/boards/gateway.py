"""Gateway and policies: queues, priorities, outcomes of requests, connections."""

from dashboards.grafana.boards.rush import ANSWERED, RESPONSE
from dashboards.grafana.colours import BAD, GOOD, OUTCOMES, PAGES
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import BAD_FROM_1, BUSY, bars, heat, lines, number
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, quantile, rate

_SHADOWS = "doorbuster_gateway_shadow_requests_total"


def board() -> Board:
    return Board(
        "gateway",
        "Gateway and policies",
        "The work of the queueing policy: which requests wait, are served next, or are turned "
        "away. Response times are in paper seconds.",
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
            "The queueing policy that the gateway uses now. In a comparison, each run sets its "
            "own policy.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{policy}}"),
            words=True,
            wide=6,
        ),
        number(
            "Admission of sessions",
            "The policy that decides which sessions may begin. With none, every session may begin.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{admission}}"),
            words=True,
        ),
        number(
            "Admission of connections",
            "The policy that decides which TLS connections the gateway accepts. none: all "
            "connections. eac: all resumed connections, and a limited number of new ones.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{connection_admission}}"),
            words=True,
        ),
        number(
            "When a customer leaves",
            "ignore: the request keeps its place. drop-queued: the gateway takes it out of the "
            "queue. cancel: the shop also stops its work on the request.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{abandonment}}"),
            words=True,
        ),
        number(
            "Order",
            "Order of service. Policies that switch use FIFO in quiet times and LIFO in a rush.",
            "none",
            Ask(f"doorbuster_gateway_discipline_info{{{OF}}}", "{{discipline}}"),
            words=True,
            wide=3,
        ),
        number(
            "Changes of order",
            "Changes of the order since the policy came into force. A few are normal when "
            "overload begins and ends; hundreds mean that the policy's thresholds are too close "
            "together.",
            "short",
            Ask(f"doorbuster_gateway_discipline_switches_total{{{OF}}}"),
            wide=3,
            digits=0,
        ),
        lines(
            "Shadows agree",
            "Shadows receive the same events as the acting policy, but do not act. The line is "
            "the share of requests on which shadow and acting policy decide alike. Two good "
            "policies agree in quiet times and differ in a rush.",
            "percentunit",
            Ask(
                rate(_SHADOWS, OF, 'verdict="same"', by="policy")
                + " / "
                + rate(_SHADOWS, OF, 'verdict!="absent"', by="policy"),
                "{{policy}}",
            ),
        ),
        lines(
            "Requests that shadows would refuse or serve",
            "would_refuse: the shadow would turn away a request that the gateway served, or whose "
            "customer left. would_serve: the shadow would serve a request that the gateway turned "
            "away, or whose customer left.",
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
            "Requests in each queue",
            "SQ has one queue, and the 8Q policies have one queue for each page. In a rush, the "
            "queue of Br-1 is full; under a good policy, the queues of Tr-1 to Tr-4 stay nearly "
            "empty.",
            "short",
            Ask(f"doorbuster_gateway_queue_requests{{{OF}}}", "{{queue}}"),
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Priority N × U",
            "8Q policies serve the queue with the largest product of waiting requests and "
            "utility. In a rush, the line of Br-1 rises with its many requests until that queue "
            "is served, too.",
            "short",
            Ask(f"doorbuster_gateway_queue_priority{{{OF}}}", "{{queue}}"),
            colours=PAGES,
        ),
        bars(
            "How full the queues are",
            "At 100 %, the queue is full, and the policy turns requests away.",
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
            "Arrivals include retries, so in a rush they exceed the pages that customers need.",
            "reqps",
            Ask(rate("doorbuster_gateway_arrivals_total", OF, by="page"), "{{page}}"),
            wide=8,
            stacked=True,
            colours=PAGES,
        ),
        lines(
            "Requests given to a worker, by page",
            "In a rush, the sum over all pages stays at the shop's capacity. The policy decides "
            "how the pages share this capacity.",
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
            "Times in paper seconds. In a rush under FIFO, there is one bright band at the "
            "response time at which patience ends. Under LIFO, the bright band is at the bottom, "
            "with some late answers above.",
            "s",
            Ask(
                rate(f"{RESPONSE}_bucket", OF, ANSWERED, by="le"),
                "{{le}}",
                buckets=True,
            ),
        ),
        lines(
            "Outcomes of requests",
            "answered: served in time. orphaned: served to the end although the customer had "
            "left. cancelled: stopped in the shop. withdrawn: taken out of the queue because the "
            "customer had left. dropped: turned away by the queueing policy.",
            "reqps",
            Ask(rate(f"{RESPONSE}_count", OF, by="outcome"), "{{outcome}}"),
            tall=9,
            stacked=True,
            colours=OUTCOMES,
        ),
        lines(
            "Response time of 9 in 10 answered requests, by page",
            "Times in paper seconds. 8Q-LIFO-Pri serves the pages of buyers fast, and the home "
            "page more slowly.",
            "s",
            Ask(quantile(0.9, RESPONSE, OF, ANSWERED, by="page"), "{{page}}"),
            wide=8,
            colours=PAGES,
        ),
        lines(
            "Customers who leave",
            "waiting: customers who left while their request waited. in service: served requests "
            "whose customers left before or during service. withdrawn: requests that the gateway "
            "took out of a queue because their customers had left. Under FIFO in a rush, most "
            "customers leave.",
            "cps",
            Ask(rate(f"{left}_waiting_total", OF), "waiting"),
            Ask(rate(f"{left}_in_service_total", OF), "in service"),
            Ask(rate("doorbuster_gateway_withdrawals_total", OF), "withdrawn from the queue"),
            wide=8,
            colours={"waiting": BAD, "in service": "#ffab63"},
            dashed=("withdrawn from the queue",),
        ),
        lines(
            "Answers of the gateway itself",
            "These answers came from the gateway, not from the shop. Dropped and rejected requests "
            "get status 503, which does not occur in quiet times.",
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
            "Connections from customers, connections to the shop and the ad server, and TLS "
            "handshakes that have not ended.",
            "short",
            Ask(f"doorbuster_gateway_customer_connections{{{OF}}}", "customers"),
            Ask(f"doorbuster_gateway_shop_connections{{{OF}}}", "shop"),
            Ask(f"doorbuster_gateway_tls_handshakes_under_way{{{OF}}}", "TLS handshakes"),
            wide=8,
            dashed=("shop",),
        ),
        lines(
            "TLS connections",
            "A new connection costs many times the CPU time of a resumed connection. In a rush, "
            "EAC refuses new connections, but never resumed connections.",
            "cps",
            Ask(
                rate("doorbuster_gateway_tls_connections_total", OF, by="kind, outcome"),
                "{{kind}}, {{outcome}}",
            ),
            wide=8,
            colours={"resumed, accepted": GOOD, "new, refused": BAD},
        ),
        lines(
            "Connections that EAC expects and can accept",
            "The values are for the next interval. In a rush, EAC expects more new connections "
            "than it can accept. The panel has no data if EAC is not in force.",
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
            "CPU use of the gateway, as a share of one processor. It must stay far below 100 %. "
            "Otherwise, the gateway is the bottleneck instead of the shop.",
            "percentunit",
            Ask(
                rate("process_cpu_seconds_total", 'job="gateway"', by="application"),
                "{{application}}",
            ),
            limits=((None, GOOD), (0.8, BAD)),
        ),
        number(
            "Connections over the limit",
            "Connections that the gateway closed at once because too many were open.",
            "short",
            Ask(f"doorbuster_gateway_turned_away_connections_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Load samples missed",
            "Samples in which the shop did not report its CPU. Until the next report, policies "
            "that use the shop's CPU decide with old values.",
            "short",
            Ask(f"doorbuster_gateway_load_failures_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
        number(
            "Overdue cancellations",
            "Requests that the gateway cancelled, but that the shop did not end in time.",
            "short",
            Ask(f"doorbuster_gateway_overdue_cancels_total{{{OF}}}"),
            tall=8,
            limits=BAD_FROM_1,
        ),
    ]
