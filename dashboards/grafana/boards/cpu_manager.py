"""CPU manager: processors that applications of the hosting platform ask for, get and use."""

from dashboards.grafana.boards.rush import ANSWERED, RESPONSE
from dashboards.grafana.colours import BAD, GOOD
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import lines, number
from dashboards.grafana.queries import Ask, quantile, rate

ECM = "doorbuster_cpu_manager"


def board() -> Board:
    """Return the dashboard."""
    return Board(
        "cpu-manager",
        "CPU manager",
        "eDragon's ECM: every interval each application says how many processors it needs, and "
        "the manager divides those there are. Empty until a hosting platform runs "
        "(`doorbuster platform`, `make reproduce-edragon`).",
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
            "Asked for (R)",
            "By each application. In its own rush an application asks for all; the other's "
            "request stays small.",
            "none",
            Ask(f"{ECM}_requested_processors", "{{application}}", 2),
            steps=True,
        ),
        lines(
            "Assigned (A)",
            "Follows what is asked for within an interval. Where both rush, it is divided by "
            "their priorities.",
            "none",
            Ask(f"{ECM}_assigned_processors", "{{application}}", 2),
            Ask(f"{ECM}_processors", "there are", 2),
            steps=True,
            dashed=("there are",),
        ),
        lines(
            "Used",
            "CPU of each application's processes, in processors. Below what is assigned: it "
            "asked for too many; never above.",
            "none",
            Ask(rate(used, by="application"), "{{application}}", 2),
        ),
        lines(
            "Who has which processor",
            "1 while the application has it alone, a half while two share it.",
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
            "Paper seconds, by application. The application that is not in a rush must not "
            "notice the other's.",
            "s",
            Ask(quantile(0.9, RESPONSE, ANSWERED, by="application"), "{{application}}"),
            wide=8,
        ),
        lines(
            "Answered",
            "Requests, by application: at most what its processors can serve.",
            "reqps",
            Ask(rate(f"{RESPONSE}_count", ANSWERED, by="application"), "{{application}}"),
            wide=8,
            stacked=True,
        ),
        lines(
            "New connections refused",
            "By EAC of each application's front: those its processors could not serve.",
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
            "Who may share a processor with another application, in halves.",
            "none",
            Ask(f"{ECM}_info", "{{sharing}}", 2),
            words=True,
            wide=6,
            tall=8,
            empty="no platform",
        ),
        lines(
            "Interval",
            "Between decisions: as set, and as it was. Far apart: the machine is too busy for "
            "the manager.",
            "s",
            Ask(f"{ECM}_interval_seconds", "as set", 2),
            Ask(f"{ECM}_last_interval_seconds", "as it was", 2),
            wide=6,
            dashed=("as set",),
        ),
        lines(
            "CPU of the manager",
            "Of one processor: next to nothing, whatever the applications do.",
            "percentunit",
            Ask(rate(f"{ECM}_cpu_seconds_total"), "CPU", 2),
            wide=6,
            limits=((None, GOOD), (0.05, BAD)),
        ),
        lines(
            "Decisions and priorities",
            "Decisions per second; priorities as set.",
            "none",
            Ask(rate(f"{ECM}_turns_total"), "decisions/s", 2),
            Ask(f"{ECM}_priority", "P of {{application}}", 2),
            wide=6,
            dashed=("decisions/s",),
        ),
    ]
