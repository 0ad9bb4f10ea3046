"""A load that follows a formula of the time `t`, with simple arithmetic.

The text is parsed and checked, and never run as a program. The module uses only the standard
library.
"""

import ast
import math
import operator
from collections.abc import Callable

MOST_CHARACTERS = 200
_Value = Callable[[float], float]

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "min": min,
    "max": max,
}
_FEWEST = {"min": 2, "max": 2}
_MOST = {"min": 10, "max": 10}
"""The maximum number of arguments of these functions; every other function takes 1."""
_NAMES: dict[str, _Value] = {"t": lambda t: t, "pi": lambda _: math.pi}
ALLOWED = "numbers, t, pi, + - * / **, parentheses, sin, cos, exp, min and max"


class FormulaError(ValueError):
    """The error for a text that is not a formula, or whose value at some time is missing or
    negative. `message` explains the fault, and `allowed` describes the valid texts or values.
    """

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(f"{message}; allowed: {allowed}")
        self.message = message
        self.allowed = allowed


class Formula:
    """A formula of the time `t`. Raises FormulaError if the text is too long, is not a formula, or
    has a forbidden part."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise FormulaError(f"has {len(text):,} characters", f"at most {MOST_CHARACTERS}")
        try:
            self._value = _compiled(ast.parse(text.strip(), mode="eval").body)
        except SyntaxError as fault:
            raise FormulaError(f"column {fault.offset or 1}: is not a formula", ALLOWED) from None
        except (ValueError, RecursionError, MemoryError) as fault:
            if isinstance(fault, FormulaError):
                raise
            raise FormulaError("cannot be read", ALLOWED) from None

    def at(self, time_s: float) -> float:
        """Return the value at a time. Raises FormulaError if the formula has no value there, or a
        value below 0.
        """
        try:
            value = self._value(float(time_s))
        except (ArithmeticError, ValueError):
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            found = f"is {value:.3g}" if math.isfinite(value) else "has no value"
            raise FormulaError(f"{found} at t = {time_s:g}", "a number of 0 or more")
        return value


def _compiled(node: ast.expr) -> _Value:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            number = float(value)
            return lambda _: number
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative = _compiled(inner)
            return lambda t: -negative(t)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _compiled(inner)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            apply, one, other = _OPERATORS[type(sign)], _compiled(left), _compiled(right)
            return lambda t: apply(one(t), other(t))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if (
            name in _FUNCTIONS and _FEWEST.get(name, 1) <= len(given) <= _MOST.get(name, 1)
        ):
            function, parts = _FUNCTIONS[name], [_compiled(one) for one in given]
            return lambda t: function(*(part(t) for part in parts))
    raise FormulaError(f"column {node.col_offset + 1}: is not allowed", ALLOWED)
