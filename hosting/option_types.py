"""Types of command line options that click does not have."""

import math
from typing import Any

import click

from common import cpus


class Finite(click.FloatRange):
    """A number in a range, which cannot be `nan`, unlike that of click's own type."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class CpuList(click.ParamType[tuple[int, ...]]):
    """CPUs as a tuple; a process of this machine must be allowed to run on them."""

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
