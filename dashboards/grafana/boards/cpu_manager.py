"""CPU manager: the processors that applications of the hosting platform request, get and use."""

from dashboards.grafana.boards.rush import ANSWERED, RESPONSE
from dashboards.grafana.colours import BAD, GOOD
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import lines, number
from dashboards.grafana.queries import Ask, quantile, rate

ECM = "doorbuster_cpu_manager"


def board() -> Board:
    return Board(
        "cpu-manager",
        "CPU manager",
        "eDragon's CPU manager (ECM): in every interval, each application requests processors, "
        "and the manager divides the available processors among the applications. The dashboard "
        "is empty until a hosting platform runs (`doorbuster platform`, `make reproduce-edragon`).",
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
            "Processors that each application requests. An application in a rush requests all "
            "processors; the other application's request remains small.",
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
            "CPU use of each application, in processors. It is above the assigned number only if "
            "the application shares a processor. If it is far below the assigned number, the "
            "application has requested too many processors.",
            "none",
            Ask(rate(used, by="application"), "{{application}}", 2),
        ),
        lines(
            "Assignment of each processor",
            "1: only this application uses the processor. ½: two applications share the processor.",
            "none",
            Ask(
                f"{ECM}_processor_info / on (processor) group_left () "
                f"count by (processor) ({ECM}_processor_info)",
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
            "Response time of 9 in 10 answered requests",
            "Response times in paper seconds, by application. A rush of one application must not "
            "slow down the other.",
            "s",
            Ask(quantile(0.9, RESPONSE, ANSWERED, by="application"), "{{application}}"),
            wide=8,
        ),
        lines(
            "Answered",
            "Answered requests per real second, by application. The assigned processors limit this "
            "rate.",
            "reqps",
            Ask(rate(f"{RESPONSE}_count", ANSWERED, by="application"), "{{application}}"),
            wide=8,
            stacked=True,
        ),
        lines(
            "New connections refused",
            "New connections that EAC refused because the application's processors could not "
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
            "The rule for sharing a processor in halves. both: any two applications. to-high: an "
            "application gives half a processor only to an application of higher priority. none: "
            "no processor is shared.",
            "none",
            Ask(f"{ECM}_info", "{{sharing}}", 2),
            words=True,
            wide=6,
            tall=8,
            empty="no platform",
        ),
        lines(
            "Interval",
            "The configured and the measured time between two decisions, in real seconds. If the "
            "lines are far apart, the machine is too busy for the manager.",
            "s",
            Ask(f"{ECM}_interval_seconds", "as set", 2),
            Ask(f"{ECM}_last_interval_seconds", "as measured", 2),
            wide=6,
            dashed=("as set",),
        ),
        lines(
            "CPU of the manager",
            "CPU use of the manager, as a share of one processor. It is always close to 0.",
            "percentunit",
            Ask(rate(f"{ECM}_cpu_seconds_total"), "CPU", 2),
            wide=6,
            limits=((None, GOOD), (0.05, BAD)),
        ),
        lines(
            "Decisions and priorities",
            "Decisions of the manager per second, and the configured priorities.",
            "none",
            Ask(rate(f"{ECM}_turns_total"), "decisions/s", 2),
            Ask(f"{ECM}_priority", "P of {{application}}", 2),
            wide=6,
            dashed=("decisions/s",),
        ),
    ]
