"""Types of command-line options that click lacks."""

import math
from typing import Any

import click

from common import cpus


class Finite(click.FloatRange):
    """A number in a range; unlike click's type, it rejects `nan`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class CpuList(click.ParamType[tuple[int, ...]]):
    """A tuple of CPUs on which the process may run."""

    name = "cpus"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return cpus.parse(value, cpus.usable())
        except ValueError as fault:
            self.fail(str(fault), param, ctx)
