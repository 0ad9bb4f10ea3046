"""The operations that the admin API calls to show or change the state of a gateway."""

from collections.abc import Mapping, Sequence

from gateway.admin.figures import GatewayFigures
from gateway.admin.metrics import GatewayMetrics
from gateway.parts import Parts
from gateway.policies import Abandonment
from gateway.policies.interface import Policy
from gateway.queues.policy_choice import PolicyChoice, PolicyInForce
from gateway.shadow.shadow import ShadowError
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.students.limits import IN_THE_GATEWAY, Limits
from gateway.students.stand_in import FallBack


class Controls:
    """The operations of one gateway; its state is in `figures` and `metrics`."""

    def __init__(
        self,
        parts: Parts,
        in_force: PolicyInForce,
        figures: GatewayFigures,
        metrics: GatewayMetrics,
    ) -> None:
        self._parts, self._in_force = parts, in_force
        self.figures, self.metrics = figures, metrics

    @property
    def is_draining(self) -> bool:
        return self._parts.connections.is_draining

    def make_policy(self, choice: PolicyChoice) -> Policy:
        """Return a new policy; raise PolicyError if the choice is invalid."""
        return self._in_force.make(choice)

    def switch_policy(self, choice: PolicyChoice, policy: Policy) -> None:
        try:
            self._parts.pages.switch(policy)
        finally:
            # False if the policy has already failed.
            if self._parts.pages.dispatcher.policy is policy:
                self._in_force.choice = choice
                self.metrics.switched(policy.name)
                self._guard()

    def _guard(self) -> None:
        """Use signed cookies only if the policy uses sessions or a shadow is listed."""
        self._parts.sessions.guard(
            self._in_force.choice.needs_sessions or bool(self._parts.shadow_policies.entries)
        )

    def make_shadow(self, choice: PolicyChoice) -> Policy:
        """Return a new policy for a shadow; raise PolicyError if the choice is invalid."""

        def fell_back(why: FallBack) -> None:
            raise ShadowError(why.reason)

        # All shadows together get no more CPU time than the acting policy.
        share_ratio = IN_THE_GATEWAY.share_ratio / (MOST_SHADOWS + 1)
        limits = Limits(decision_s=self._in_force.own_policy_s, share_ratio=share_ratio)
        return choice.make(limits, fell_back)

    def replace_shadows(self, made: Sequence[tuple[PolicyChoice, Policy]]) -> None:
        """Run exactly these shadows, which must differ. A listed shadow that already runs
        continues; a shadow that is not listed ends.
        """
        self._parts.shadow_policies.replace(
            [(choice.label, choice.described(), policy) for choice, policy in made]
        )
        self._shadows_changed()

    def add_shadow(self, choice: PolicyChoice, policy: Policy) -> None:
        """Add a shadow; raise ShadowsError if it already runs or there are too many shadows."""
        self._parts.shadow_policies.add(choice.label, choice.described(), policy)
        self._shadows_changed()

    def take_shadow_away(self, name: str) -> None:
        """Remove the shadow of this name; raise ShadowsError if the name is unknown."""
        self._parts.shadow_policies.take_away(name)
        self._shadows_changed()

    def _shadows_changed(self) -> None:
        self._guard()
        self._parts.pages.set_timer()

    def change(
        self,
        *,
        time_scale: float | None,
        utilisation_interval_s: float | None,
        abandonment: Abandonment | None,
    ) -> Mapping[str, object]:
        """Change the settings that are not None, and return the settings in force."""
        if time_scale is not None:
            self._parts.pages.set_time_scale(time_scale)
            self._parts.probe.restart_interval()
            self._parts.gate.reschedule()
        if utilisation_interval_s is not None:
            self._parts.probe.interval_s = utilisation_interval_s
            self._parts.probe.restart_interval()
        if abandonment is not None:
            self._parts.pages.dispatcher.abandonment = abandonment
            for one in self._parts.bypasses:
                one.queue.abandonment = abandonment
        return {
            "time_scale": self._parts.clock.scale,
            "utilisation_interval_s": self._parts.probe.interval_s,
            "abandonment": self._parts.pages.dispatcher.abandonment,
        }

    def switch_connection_admission(
        self, name: str, parameters: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Switch the admission policy for TLS connections, and return it; raise PolicyError."""
        self._parts.gate.replace(name, parameters)
        return self._parts.gate.described()
