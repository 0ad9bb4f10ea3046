"""The gateway's state: the snapshot for the admin API, and the values of the metrics."""

from collections.abc import Mapping
from itertools import islice

from gateway.parts import Parts
from gateway.policies import stem
from gateway.queues.policy_choice import PolicyInForce


class GatewayFigures:
    """The present state of one gateway, read from its parts."""

    def __init__(self, parts: Parts, in_force: PolicyInForce) -> None:
        self._parts, self._in_force = parts, in_force

    def snapshot(self) -> Mapping[str, object]:
        driver = self._parts.pages.dispatcher
        manager, tracer = self._parts.cpu_manager, self._parts.tracer
        return {
            "time_s": self._parts.clock(),
            **driver.snapshot(),
            "policy": self.policy_in_force(),
            "shadows": self._parts.shadow_policies.figures(),
            "abandonment": self.abandonment(),
            "time_scale": self._parts.clock.scale,
            "counts": self.counts(),
            "load": self._parts.probe.snapshot(),
            **{
                one.name: {"in_service": one.queue.in_service, "waiting": one.queue.waiting}
                for one in self._parts.bypasses
            },
            "connections": {
                "customers": len(self._parts.connections.customers),
                "shop": self._shop_connections,
                **self._parts.gate.counts(),
                "admission": self._parts.gate.described(),
            },
            "cpu_manager": manager.snapshot() if manager is not None else None,
            "refusals": {str(status): n for status, n in self._parts.context.refusals.items()},
            "traced_ratio": tracer.sampled_ratio if tracer is not None else 0.0,
            "is_draining": self._parts.connections.is_draining,
        }

    def policy_in_force(self) -> dict[str, object]:
        return {
            **self._in_force.choice.described(),
            "snapshot": dict(self._parts.pages.dispatcher.policy.snapshot()),
        }

    def shadows(self) -> dict[str, object]:
        them = self._parts.shadow_policies
        last = them.disagreements()
        return {
            "time_s": self._parts.clock(),
            "shadows": [
                {**one, "disagreements": last.get(str(one["name"]), [])} for one in them.figures()
            ],
        }

    def shadow_counts(self) -> dict[str, dict[str, int]]:
        """Return the number of requests for each shadow and verdict (`shadow.tally.VERDICTS`)."""
        return self._parts.shadow_policies.counts()

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of requests for each page type or bypass, and for each fate."""
        bypasses = {one.name: one.queue.counts() for one in self._parts.bypasses}
        return {**self._parts.pages.dispatcher.counts(), **bypasses}

    def abandonment(self) -> dict[str, object]:
        """Return the abandonment setting, and the counts of requests whose customers have left."""
        fates = self.counts().values()

        def total(fate: str) -> int:
            return sum(n[fate] for n in fates)

        return {
            "mode": self._parts.pages.dispatcher.abandonment,
            "left_waiting": total("abandoned_waiting"),
            "withdrawn": total("withdrawn"),
            "left_in_service": self._parts.context.left_in_service,
            "cancelled": total("cancelled"),
            "finished": total("orphaned"),
            "overdue": self._overdue,
        }

    def queue(self, limit: int) -> dict[str, object]:
        queue, now_s = self._parts.pages, self._parts.clock()
        requests = [
            [
                request.id,
                request.page,
                round(now_s - request.arrived_s, 3),
                queue.has_left(request.id),
            ]
            for request in islice(queue.dispatcher.policy.waiting(), limit)
        ]
        return {"time_s": now_s, "waiting": queue.dispatcher.waiting, "requests": requests}

    def waiting(self) -> dict[str, int]:
        """Return the number of waiting requests for each page type or bypass."""
        bypasses = {one.name: one.queue.waiting for one in self._parts.bypasses}
        return {**self._parts.pages.dispatcher.waiting_by_page(), **bypasses}

    def connections(self) -> dict[str, int]:
        return self._parts.gate.counts()

    def connection_admission(self) -> Mapping[str, object]:
        return self._parts.gate.snapshot()

    def in_force(self) -> dict[str, str]:
        """Return the policies in force and the abandonment setting; the keys are `CHOICES`."""
        choice = self._in_force.choice
        return {
            "policy": stem(choice.name),
            "admission": choice.admission,
            "abandonment": self._parts.pages.dispatcher.abandonment,
            "connection_admission": self._parts.gate.name,
        }

    def refusals(self) -> dict[int, int]:
        return self._parts.context.refusals

    def policy(self) -> tuple[str, Mapping[str, object]]:
        """Return the policy's name, which includes the admission policy's name, and the policy's
        snapshot.
        """
        policy = self._parts.pages.dispatcher.policy
        return policy.name, policy.snapshot()

    def gauges(self) -> dict[str, tuple[str, float | None]]:
        """Return {name: (meaning, value)} for the metrics without labels. The name of a counter
        ends in _total. An unknown value is None.
        """
        load = self._parts.probe.newest
        manager = self._parts.cpu_manager
        assigned = manager.assigned if manager is not None else None
        return {
            "in_service_requests": (
                "Requests for the eight page types that are in service",
                self._parts.pages.dispatcher.in_service,
            ),
            "workers": (
                "Maximum number of requests for the eight page types in service at a time",
                self._parts.settings.workers,
            ),
            "customer_connections": (
                "Open connections of customers",
                len(self._parts.connections.customers),
            ),
            "shop_connections": (
                "Open connections to the shop and the ad server",
                self._shop_connections,
            ),
            "policy_fallbacks_total": (
                "Students' policies that failed and were replaced by FIFO",
                self._in_force.fallbacks,
            ),
            "turned_away_connections_total": (
                "Connections closed because the limit `max_connections` was reached",
                self._parts.connections.turned_away,
            ),
            "abandonments_in_service_total": (
                "Requests sent to the shop whose customers left before the answer was complete",
                self._parts.context.left_in_service,
            ),
            "overdue_cancels_total": (
                "Requests that the shop did not end within `cancel_s`, although no answer was "
                "wanted",
                self._overdue,
            ),
            "load_samples_total": (
                "Successful samples of the shop's load",
                self._parts.probe.samples,
            ),
            "load_failures_total": (
                "Failed samples of the shop's load",
                self._parts.probe.failures,
            ),
            "time_scale_ratio": ("Paper seconds per real second", self._parts.clock.scale),
            "clock_paper_seconds": (
                "The gateway's clock, in paper seconds",
                self._parts.clock(),
            ),
            "draining": (
                "1 while the gateway stops: it finishes the requests that it has accepted",
                float(self._parts.connections.is_draining),
            ),
            "assigned_processors": (
                "Processors that the CPU manager has assigned",
                assigned.assigned if assigned is not None else None,
            ),
            "requested_processors": (
                "Processors that the gateway needs, according to the admission policy for "
                "connections",
                self._parts.gate.processors_wanted,
            ),
            "shop_cpu_utilisation_ratio": (
                "CPU utilisation of the shop in the latest load sample",
                load.cpu_utilisation_ratio if load is not None else None,
            ),
            "shop_busy_workers": (
                "Busy workers of the shop in the latest load sample",
                load.busy_workers if load is not None else None,
            ),
        }

    @property
    def _shop_connections(self) -> int:
        return sum(pool.open_connections for pool in self._parts.pools)

    @property
    def _overdue(self) -> int:
        return sum(pool.overdue for pool in self._parts.pools)
