"""Types of command line options that click does not have."""

import math
from typing import Any

import click

from common import cpus


class Finite(click.FloatRange):
    """A number in a range. click's own lets `nan` through, which is in no range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class CpuList(click.ParamType[tuple[int, ...]]):
    """CPUs as a tuple, of those that a process of this machine may be given."""

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
