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
    return Board(
        "sessions",
        "Sessions and admission",
        "Session-based admission control decides which sessions begin, so that admitted "
        "sessions can finish. Without an admission policy, most panels of the gate are empty.",
        [Part("The gate", _gate()), Part("Sessions", _sessions())],
    )


def _gate() -> list[object]:
    return [
        number(
            "Admission in force",
            "The admission policy, for example sbac-responsive, sbac-stable, sbac-hybrid or "
            "sbac-predictive. With none, every session may begin.",
            "none",
            Ask(f"doorbuster_gateway_policy_info{{{OF}}}", "{{admission}}"),
            words=True,
            wide=6,
            tall=5,
        ),
        states(
            "The gate for new sessions",
            "The gate is open in quiet times. In a rush, responsive SBAC opens and closes the gate "
            "often, and stable SBAC only rarely.",
            Ask(f"{GATE}_open{{{OF}}}", "{{policy}}"),
            names={"1": ("let in", GOOD), "0": ("turned away", BAD)},
            wide=12,
        ),
        number(
            "Sessions turned away",
            "The share of new sessions that the policy turned away. At ρ = 2, this share should be "
            "about one half.",
            "percentunit",
            Ask(f"{REJECTED} / ({REJECTED} + {ADMITTED})"),
            wide=6,
            tall=5,
            limits=((None, GOOD), (0.1, WARNING), (0.5, BAD)),
        ),
        lines(
            "Utilisation that opens or closes the gate",
            "The gate closes when the prediction is above the threshold. Under responsive SBAC, "
            "prediction and measurement coincide; under stable SBAC, the prediction follows "
            "slowly.",
            "percentunit",
            Ask(f"{GATE}_predicted_utilisation_ratio{{{OF}}}", "predicted"),
            Ask(f"{GATE}_measured_utilisation_ratio{{{OF}}}", "measured"),
            wide=8,
            colours={"predicted": ACCENT},
            dashed=("measured",),
        ),
        lines(
            "Weight of the latest measurement",
            "The weight k. Hybrid SBAC sets k to 1 when requests are aborted, and otherwise lowers "
            "k step by step.",
            "none",
            Ask(f"{GATE}_weight_ratio{{{OF}}}", "k"),
            wide=8,
            steps=True,
            most=1,
        ),
        lines(
            "Sessions that may begin in an interval",
            "The number of new sessions that predictive SBAC allows in this interval. Other "
            "policies have no such number.",
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
            "Sessions per second. The sum is the rate of arriving sessions; in a rush, the green "
            "part is the rate at which the shop can finish sessions.",
            "cps",
            Ask(ADMITTED, "let in"),
            Ask(REJECTED, "turned away"),
            stacked=True,
            colours={"let in": GOOD, "turned away": BAD},
        ),
        lines(
            "Aborted requests of admitted sessions",
            "Requests of admitted sessions that the queueing policy turned away, or whose "
            "customers left. The line should be near 0, except under responsive SBAC at the start "
            "of a rush.",
            "cps",
            Ask(rate(f"{GATE}_aborted_requests_total", OF), "aborted"),
            colours={"aborted": BAD},
        ),
        lines(
            "Sessions in progress",
            "The number of sessions that have begun and not ended, counted by the load generator. "
            "Without an admission policy, this number grows in a rush.",
            "short",
            Ask(
                f'sum({sessions}{{event="started"}}) - sum({sessions}{{event="ended"}})',
                "under way",
                2,
            ),
        ),
        lines(
            "Attempts of the customers, by outcome",
            "not_generated: pages that were not requested, because the session had already "
            "ended. With an admission policy, rejected attempts replace timed_out and dropped "
            "attempts.",
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
