"""CPU manager: the processors that applications of the hosting platform request, get and use."""

from dashboards.grafana.boards.rush import ANSWERED, RESPONSE
from dashboards.grafana.colours import BAD, GOOD
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import lines, number
from dashboards.grafana.queries import Ask, quantile, rate

ECM = "doorbuster_cpu_manager"


def board() -> Board:
    """Return the dashboard of the CPU manager."""
    return Board(
        "cpu-manager",
        "CPU manager",
        "eDragon's CPU manager (ECM): in every interval, each application requests processors, "
        "and the manager divides the available processors among them. The dashboard is empty "
        "until a hosting platform runs (`doorbuster platform`, `make reproduce-edragon`).",
        [
            Part("Processors", _processors()),
            Part("Applications", _applications()),
            Part("The manager itself", _itself()),
        ],
    )


def _processors() -> list[object]:
    used = f"{ECM}_application_cpu_seconds_total"
    return [
        lines(
            "Requested (R)",
            "Processors that each application requests. In a rush, an application requests all "
            "processors; the request of the other application remains small.",
            "none",
            Ask(f"{ECM}_requested_processors", "{{application}}", 2),
            steps=True,
        ),
        lines(
            "Assigned (A)",
            "Processors that each application gets. The assignment follows the requests within one "
            "interval. If both applications have a rush, the priorities decide.",
            "none",
            Ask(f"{ECM}_assigned_processors", "{{application}}", 2),
            Ask(f"{ECM}_processors", "available", 2),
            steps=True,
            dashed=("available",),
        ),
        lines(
            "Used",
            "CPU use of each application's processes, in processors. It is never above the "
            "assigned number. If it is much lower, the application has requested too many "
            "processors.",
            "none",
            Ask(rate(used, by="application"), "{{application}}", 2),
        ),
        lines(
            "Assignment of each processor",
            "1 while one application has the processor to itself, and a half while two "
            "applications share it.",
            "none",
            Ask(
                f"sum by (application, processor) ({ECM}_processor_info)",
                "{{application}} on {{processor}}",
                2,
            ),
            steps=True,
            most=1.05,
        ),
    ]


def _applications() -> list[object]:
    tls = "doorbuster_gateway_tls_connections_total"
    return [
        lines(
            "9 in 10 answered within",
            "Response times in paper seconds, by application. A rush of one application must not "
            "slow down the other.",
            "s",
            Ask(quantile(0.9, RESPONSE, ANSWERED, by="application"), "{{application}}"),
            wide=8,
        ),
        lines(
            "Answered",
            "Requests per second, by application. Each application serves at most the requests "
            "that its processors can carry out.",
            "reqps",
            Ask(rate(f"{RESPONSE}_count", ANSWERED, by="application"), "{{application}}"),
            wide=8,
            stacked=True,
        ),
        lines(
            "New connections refused",
            "New connections that EAC refused, because the application's processors could not "
            "serve them.",
            "cps",
            Ask(
                rate(tls, 'kind="new"', 'outcome="refused"', by="application"),
                "{{application}}",
            ),
            wide=8,
        ),
    ]


def _itself() -> list[object]:
    return [
        number(
            "Sharing",
            "The rule for sharing a processor between two applications, each of which then gets "
            "half of it.",
            "none",
            Ask(f"{ECM}_info", "{{sharing}}", 2),
            words=True,
            wide=6,
            tall=8,
            empty="no platform",
        ),
        lines(
            "Interval",
            "The time between two decisions, as it is set and as it is measured. If the two lines "
            "are far apart, the machine is too busy for the manager.",
            "s",
            Ask(f"{ECM}_interval_seconds", "as set", 2),
            Ask(f"{ECM}_last_interval_seconds", "as measured", 2),
            wide=6,
            dashed=("as set",),
        ),
        lines(
            "CPU of the manager",
            "CPU of the manager, as a share of one processor. It is close to 0, regardless of "
            "what the applications do.",
            "percentunit",
            Ask(rate(f"{ECM}_cpu_seconds_total"), "CPU", 2),
            wide=6,
            limits=((None, GOOD), (0.05, BAD)),
        ),
        lines(
            "Decisions and priorities",
            "Decisions per second, and the priorities that are set.",
            "none",
            Ask(rate(f"{ECM}_turns_total"), "decisions/s", 2),
            Ask(f"{ECM}_priority", "P of {{application}}", 2),
            wide=6,
            dashed=("decisions/s",),
        ),
    ]
