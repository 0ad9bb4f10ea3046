"""Sessions and admission: which sessions begin and which complete."""

from dashboards.grafana.colours import ACCENT, BAD, GOOD, OUTCOMES, WARNING
from dashboards.grafana.frame import Board, Part
from dashboards.grafana.panels import lines, number, states
from dashboards.grafana.queries import OF_APPLICATION as OF
from dashboards.grafana.queries import Ask, rate

GATE = "doorbuster_gateway_admission"
ADMITTED = rate(f"{GATE}_admitted_sessions_total", OF)
REJECTED = rate(f"{GATE}_rejected_sessions_total", OF)


def board() -> Board:
    """Return the dashboard."""
    return Board(
        "sessions",
        "Sessions and admission",
        "Session-based admission control: a session that was let in shall be able to finish. "
        "Panels of the admission policy are empty while none is in force.",
        [Part("The gate", _gate()), Part("Sessions", _sessions())],
    )


def _gate() -> list[object]:
    return [
        number(
            "Admission in force",
            "sbac-responsive, -stable, -hybrid, -predictive and others; none: everybody may in.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{admission}}"),
            words=True,
            wide=6,
            tall=5,
        ),
        states(
            "The gate for new sessions",
            "Open in quiet times. In a rush responsive SBAC opens and closes every interval, "
            "stable SBAC seldom.",
            "none",
            Ask(f"{GATE}_open{{{OF}}}", "{{policy}}"),
            names={"1": ("let in", GOOD), "0": ("turned away", BAD)},
            wide=12,
        ),
        number(
            "Turned away",
            "Of the new sessions. At ρ = 2 about half of them must be.",
            "percentunit",
            Ask(f"{REJECTED} / ({REJECTED} + {ADMITTED})"),
            wide=6,
            tall=5,
            limits=((None, GOOD), (0.1, WARNING), (0.5, BAD)),
        ),
        lines(
            "Utilisation that the gate goes by",
            "It closes when the prediction is above its threshold. Responsive: prediction and "
            "measurement are the same line; stable: the prediction lags behind.",
            "percentunit",
            Ask(f"{GATE}_predicted_utilisation_ratio{{{OF}}}", "predicted"),
            Ask(f"{GATE}_measured_utilisation_ratio{{{OF}}}", "measured"),
            wide=8,
            colours={"predicted": ACCENT},
            dashed=("measured",),
        ),
        lines(
            "Weight of the newest measurement",
            "k. Hybrid SBAC moves it: towards 1 when sessions are aborted, down when none are.",
            "none",
            Ask(f"{GATE}_weight_ratio{{{OF}}}", "k"),
            wide=8,
            steps=True,
            most=1,
        ),
        lines(
            "Sessions that may begin in an interval",
            "Predictive SBAC only: what is left of the interval after those who are in.",
            "short",
            Ask(f"{GATE}_quota_sessions{{{OF}}}", "quota"),
            wide=8,
            steps=True,
        ),
    ]


def _sessions() -> list[object]:
    sessions = "doorbuster_lab_run_sessions_total"
    return [
        lines(
            "New sessions, let in and turned away",
            "In a rush the sum is what comes, green is what the shop can finish.",
            "cps",
            Ask(ADMITTED, "let in"),
            Ask(REJECTED, "turned away"),
            stacked=True,
            colours={"let in": GOOD, "turned away": BAD},
        ),
        lines(
            "Aborted requests and refused connections",
            "Of sessions that were let in: what admission is there to prevent. Near 0, but for "
            "responsive SBAC at the start of a rush.",
            "cps",
            Ask(rate(f"{GATE}_aborted_requests_total", OF), "aborted"),
            colours={"aborted": BAD},
        ),
        lines(
            "Sessions under way",
            "As the load generator has them. Without admission they pile up in a rush.",
            "short",
            Ask(
                f'sum({sessions}{{event="started"}}) - sum({sessions}{{event="ended"}})',
                "under way",
                2,
            ),
        ),
        lines(
            "Attempts of the customers, by outcome",
            "not_generated: pages never asked for, because their session had ended before. With "
            "admission rejected takes the place of timed_out and dropped.",
            "reqps",
            Ask(
                rate("doorbuster_lab_run_attempts_total", by="outcome"),
                "{{outcome}}",
                2,
            ),
            stacked=True,
            colours=OUTCOMES,
        ),
    ]
