"""Settings from environment variables: the functions that declare and read them.

docs/settings.md, `.env.example` and commands' options are generated from the fields of each part's
`SettingsModel`.
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

PREFIX = "DOORBUSTER_"

M = TypeVar("M", bound="SettingsModel")


class SettingsError(ValueError):
    """The error for invalid settings; each line of the message names a setting and the reason."""


@dataclass(frozen=True, slots=True)
class Form:
    """A description of the texts that a setting allows; every type that checks text has one."""

    words: str


class SettingsModel(BaseModel):
    """The settings of one part. A duration is in real seconds, unless its description says paper
    seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix: ClassVar[str] = PREFIX
    """The prefix of the variables of fields that are declared without `setting`."""

    @classmethod
    def variable(cls, field: str) -> str:
        return str(_extra(cls.model_fields[field]).get("variable", cls.prefix + field.upper()))

    def changed(self, **changes: object) -> Self:
        """Return a copy of these settings with these unchecked values."""
        return self.model_copy(update=changes)


def setting(
    variable: str,
    default: Any,
    meaning: str,
    *,
    shown: str | None = None,
    example: str | None = None,
    page: str | None = None,
    secret: bool = False,
) -> Any:
    """Declare a setting; `shown` describes a computed default, and `page` is the page
    with details.
    """
    extra: dict[str, Any] = {
        "variable": PREFIX + variable,
        "shown": shown,
        "page": page,
        "secret": secret,
    }
    return Field(
        default,
        description=meaning,
        examples=None if example is None else [example],
        repr=not secret,
        json_schema_extra=extra,
    )


def like(declaration: Any, default: Any, meaning: str) -> Any:
    """Declare a shared setting again for a part in which this setting has another default or
    meaning.
    """
    [info] = (each for each in declaration.__metadata__ if _is_declaration(each))
    return Field(default, description=meaning, repr=info.repr, json_schema_extra=_extra(info))


def read(
    model: type[M], given: Mapping[str, str], options: Mapping[str, object] | None = None
) -> M:
    """Return the settings from these variables, which command-line options override.

    Raises SettingsError if settings are invalid or contradict each other.
    """
    settings, faults = read_leniently(model, given, options=options)
    if faults:
        raise SettingsError("\n".join(faults))
    return settings


def read_leniently(
    model: type[M],
    given: Mapping[str, str],
    *,
    defaults: Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    context: Mapping[str, object] | None = None,
) -> tuple[M, list[str]]:
    """Read settings as `read` does, but use the default for an invalid setting. Return the settings
    and a line for each fault. `defaults` override the declared defaults. Raises SettingsError if
    a default is invalid or settings contradict each other.
    """
    values = dict(defaults or {})
    origins: dict[str, str] = {}
    for field in model.model_fields:
        if options and options.get(field) is not None:
            values[field], origins[field] = options[field], "--" + field.replace("_", "-")
        elif text := given.get(model.variable(field), "").strip():
            values[field], origins[field] = text, model.variable(field)
    try:
        return model.model_validate(values, context=dict(context or {})), []
    except ValidationError as error:
        faults: dict[str, str] = {}
        for problem in error.errors():
            field = str(problem["loc"][0]) if problem["loc"] else ""
            if not field:
                raise SettingsError(_reason(problem, None)) from None
            info = model.model_fields[field]
            if field not in origins:
                raise SettingsError(f"{model.variable(field)}: {_reason(problem, info)}") from None
            shown = "" if is_secret(info) else f"={values[field]}"
            faults[field] = f"{origins[field]}{shown}: {_reason(problem, info)}"
    kept = {field: text for field, text in values.items() if field not in faults}
    kept |= {field: value for field, value in (defaults or {}).items() if field in faults}
    return model.model_validate(kept, context=dict(context or {})), list(faults.values())


def written(value: object) -> str:
    """Return a setting's value as the text of its variable; empty without a value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def bounds(info: FieldInfo) -> dict[str, Any]:
    """Return the bounds of a setting; the keys are `ge`, `gt`, `le`, `min_length` and `pattern`."""
    return {
        name: found
        for mark in _marks(info)
        for name in ("ge", "gt", "le", "min_length", "pattern")
        if (found := getattr(mark, name, None)) is not None
    }


def allowed(info: FieldInfo) -> str:
    """Return the allowed values of a setting in words, e.g. `a whole number from 1 to 100`."""
    for mark in _marks(info):
        if isinstance(mark, Form):
            return mark.words
    kind, found = _kind(info), bounds(info)
    if get_origin(kind) is Literal:
        *most, last = (f"`{each}`" for each in get_args(kind))
        return f"{', '.join(most)} or {last}"
    if kind in (int, float):
        what = "a whole number" if kind is int else "a number"
        if "gt" in found:
            return f"{what} above {found['gt']:.15g}, at most {found['le']:.15g}"
        if "le" not in found:
            return f"{what}, at least {found['ge']:.15g}"
        return f"{what} from {found['ge']:.15g} to {found['le']:.15g}"
    if "pattern" in found:
        return f"text that matches `{found['pattern']}`"
    return "text" if kind is str else "a path"


def shown_default(info: FieldInfo) -> str:
    """Return the default as the documentation shows it."""
    if shown := _extra(info).get("shown"):
        return str(shown)
    default = info.get_default(call_default_factory=True)
    if isinstance(default, Path) and default.is_relative_to(_ROOT):
        default = default.relative_to(_ROOT)
    return f"`{text}`" if (text := written(default)) and default != {} else "none"


def see(info: FieldInfo) -> str | None:
    """Return the documentation page that explains a setting in detail, or None."""
    return _extra(info).get("page")


def is_secret(info: FieldInfo) -> bool:
    """Return whether messages and examples must hide the value of a setting."""
    return bool(_extra(info).get("secret"))


def _kind(info: FieldInfo) -> Any:
    kind: Any = info.annotation
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _marks(info: FieldInfo) -> list[object]:
    """Return the bounds and forms of a setting; later bounds override earlier ones."""
    inner: list[Any] = []
    for one in get_args(info.annotation) if info.annotation is not None else ():
        if get_origin(one) is Annotated:
            inner += get_args(one)[1:]
    return [one for mark in [*inner, *info.metadata] for one in getattr(mark, "metadata", [mark])]


def _extra(info: FieldInfo) -> dict[str, Any]:
    extra = info.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def _is_declaration(mark: object) -> bool:
    return isinstance(mark, FieldInfo) and "variable" in _extra(mark)


_ROOT = Path(__file__).parents[1]
_PLAIN = ("int_", "float_", "greater_", "less_", "finite_", "literal_", "string_", "path_", "too_")


def _reason(problem: Any, info: FieldInfo | None) -> str:
    if info is not None and problem["type"].startswith(_PLAIN):
        return f"must be {allowed(info)}"
    return str(problem["msg"]).removeprefix("Value error, ")
