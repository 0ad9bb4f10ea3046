"""The operations that the admin API calls to show or change the state of a gateway."""

from collections.abc import Callable, Mapping, Sequence

from gateway.admin.figures import GatewayFigures
from gateway.admin.metrics import GatewayMetrics
from gateway.parts import Parts
from gateway.policies import Abandonment
from gateway.policies.interface import Policy
from gateway.queues.policy_choice import PolicyChoice, PolicyInForce
from gateway.shadow.shadow import ShadowError
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.students.limits import IN_THE_GATEWAY, Limits
from gateway.students.reading_room import ReadingRoom
from gateway.students.stand_in import FallBack
from gateway.turns import ChangeOrder


class Controls:
    """The operations of one gateway, which fulfil the protocol `gateway.admin.api.Controlled`."""

    def __init__(
        self,
        parts: Parts,
        in_force: PolicyInForce,
        figures: GatewayFigures,
        metrics: GatewayMetrics,
    ) -> None:
        self._parts, self._in_force = parts, in_force
        self._figures, self._metrics = figures, metrics
        self._order = ChangeOrder()
        self.reading_room = ReadingRoom()

    @property
    def is_draining(self) -> bool:
        return self._parts.connections.is_draining

    def snapshot(self) -> Mapping[str, object]:
        return self._figures.snapshot()

    def queue(self, limit: int) -> Mapping[str, object]:
        return self._figures.queue(limit)

    def shadows(self) -> Mapping[str, object]:
        return self._figures.shadows()

    def metrics_text(self) -> bytes:
        return self._metrics.text()

    def switch_policy(self, choice: PolicyChoice) -> None:
        self._put_in(choice, self._in_force.make(choice), self._order.ask())

    async def switch_later(self, choose: Callable[[], PolicyChoice]) -> None:
        """Switch to a student's policy; the gateway serves customers while the policy's process
        starts.
        """
        turn = self._order.ask()

        def make() -> tuple[PolicyChoice, Policy]:
            choice = choose()
            return choice, self._in_force.make(choice)

        self._put_in(*await self.reading_room.do(make), turn)

    def _put_in(self, choice: PolicyChoice, policy: Policy, turn: int) -> None:
        self._order.take(turn)
        try:
            self._parts.pages.switch(policy)
        finally:
            if (
                self._parts.pages.dispatcher.policy is policy
            ):  # false if the policy has already failed
                self._in_force.choice = choice
                self._metrics.switched(policy.name)
                self._guard()

    def _guard(self) -> None:
        """Use signed cookies only if the policy uses sessions or a shadow runs."""
        self._parts.sessions.guard(
            self._in_force.choice.needs_sessions or bool(self._parts.shadow_policies.entries)
        )

    def make_shadow(self, choice: PolicyChoice) -> Policy:
        def fell_back(why: FallBack) -> None:
            raise ShadowError(why.reason)

        # All shadows together get no more CPU time than the acting policy.
        share_ratio = IN_THE_GATEWAY.share_ratio / (MOST_SHADOWS + 1)
        limits = Limits(decision_s=self._in_force.own_policy_s, share_ratio=share_ratio)
        return choice.make(limits, fell_back)

    def replace_shadows(self, made: Sequence[tuple[PolicyChoice, Policy]]) -> None:
        self._parts.shadow_policies.replace(
            [(choice.label, choice.described(), policy) for choice, policy in made]
        )
        self._shadows_changed()

    def add_shadow(self, choice: PolicyChoice, policy: Policy) -> None:
        self._parts.shadow_policies.add(choice.label, choice.described(), policy)
        self._shadows_changed()

    def take_shadow_away(self, name: str) -> None:
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
        if time_scale is not None:
            self._parts.pages.set_time_scale(time_scale)
            self._parts.probe.restart_interval()
            self._parts.gate.reschedule()
        if utilisation_interval_s is not None:
            self._parts.probe.interval_s = utilisation_interval_s
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
        self._parts.gate.replace(name, parameters)
        return self._parts.gate.described()
