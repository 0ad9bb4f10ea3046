"""HTTP APIs that pydantic models describe: the allowed callers, the checks of calls, OpenAPI
documents, and the tables of the documentation.
"""

import json
import re
import reprlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

from common import hosts

Schema = dict[str, Any]

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_REFERENCE: Final = "#/components/schemas/"
_MOST_CHARACTERS: Final = 800
"""The maximum length of each text in a refusal, in characters."""
_NULL: Final = "null"


def _without_null(schema: Schema) -> None:
    """Remove the default null of optional fields from the schema, because callers must not send
    null.
    """
    for given in schema.get("properties", {}).values():
        if given.get("default", 0) is None:
            del given["default"]


class Body(BaseModel):
    """The JSON object in the body of a call. Unknown fields, wrong types and null are refused."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra=_without_null
    )

    @field_validator("*", mode="before")
    @classmethod
    def _given(cls, value: object) -> object:
        if value is None:
            raise PydanticCustomError(_NULL, "null")
        return value


class Query(BaseModel):
    """The parameters in the query of a call's URL, which arrive as text."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_without_null)


class Reply(BaseModel):
    """The JSON object in the answer to a call; every field has a description."""

    model_config = ConfigDict(extra="forbid")


class Refusal(Reply):
    """The reason why a call was refused. The call has changed nothing."""

    error: str = Field(description="the reason, in one sentence")
    field: str | None = Field(None, description="the invalid field")
    allowed: str | None = Field(None, description="the allowed values of the field")


class ParameterFaults(Protocol):
    """The faults in a call's parameters, as Django Ninja reports them."""

    @property
    def model(self) -> type[BaseModel]:
        """A model whose only field is the call's only parameter."""
        ...

    @property
    def pydantic_validation_error(self) -> ValidationError: ...


class CallError(ValueError):
    """The error for a refused call, with a one-line message, the field and the allowed values."""

    def __init__(self, message: str, field: str, allowed: str, status: int = 400) -> None:
        self.field, self.allowed = one_line(field), one_line(allowed)
        super().__init__(one_line(message))
        self.status = status

    @property
    def answer(self) -> dict[str, str]:
        return {"error": str(self), "field": self.field, "allowed": self.allowed}

    @property
    def headers(self) -> dict[str, str]:
        """The header fields that HTTP requires with the status of the answer."""
        of_status = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": self.allowed}}
        return of_status.get(self.status, {})


def one_line(text: str) -> str:
    """Return the text as one line of printable characters."""
    line = "".join(c if c.isprintable() else " " for c in text[:_MOST_CHARACTERS])
    return line + "…" if len(text) > _MOST_CHARACTERS else line


# ---- callers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Callers:
    """The host names that the calls of an API may use, and the token that they must send."""

    names: frozenset[str]
    """The accepted host names, without port, in lower case."""
    token: str | None = None
    """The token; None if calls need no token. With an empty token, every call is refused."""

    @classmethod
    def of(cls, names: Iterable[str], token: str | None = None) -> Self:
        """Return the callers that use one of these names or a loopback name. An address such as
        0.0.0.0 is ignored, because no caller uses it as a host name.
        """
        return cls(frozenset((*_LOOPBACK, *names)).difference(hosts.EVERYWHERE), token)

    def check_site(self, host: str, origins: Iterable[str]) -> None:
        """Raise CallError if a web page of another site may have sent the call through a browser.

        `host` and `origins` are the values of the header fields Host and Origin. Origin names the
        site of the page that sent the call. After DNS rebinding, Host names this site, too.
        """
        host = host.lower()
        if hosts.host_of(host) not in self.names:
            allowed = ", ".join(sorted(self.names))
            raise CallError(f"the host name in {host!r} is not allowed", "Host", allowed, 403)
        if any(origin.lower() != f"http://{host}" for origin in origins):
            error = "a web page from another site sent the call"
            raise CallError(error, "Origin", f"http://{host}", 403)

    def check_token(self, authorizations: Iterable[str]) -> None:
        """Raise CallError if no value of the header field Authorization has the token."""
        if self.token is None:
            return
        wanted = f"Bearer {self.token}".encode()
        given = [value.encode() for value in authorizations]
        if not self.token or not any(secrets.compare_digest(value, wanted) for value in given):
            raise CallError(
                "this call needs the inner token: send `Authorization: Bearer TOKEN`. `make token` "
                "prints that line. The token is the value of inner_token in secrets.json in the "
                "state folder",
                "Authorization",
                "Bearer TOKEN",
                401,
            )


# ---- checks --------------------------------------------------------------------------------------

_Model = TypeVar("_Model", bound=BaseModel)


def checked(model: type[_Model], value: object) -> _Model:
    """Return the value as an instance of the model; raise CallError for its first fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refused(model, error) from None


def first_fault(faults: Sequence[ParameterFaults]) -> CallError:
    """Return the error for the first fault of a call whose only parameter is a model."""
    first = faults[0]
    (form,) = (field.annotation for field in first.model.model_fields.values())
    assert isinstance(form, type)
    assert issubclass(form, BaseModel)
    return refused(form, first.pydantic_validation_error, above=1)


def refused(model: type[BaseModel], error: ValidationError, above: int = 0) -> CallError:
    """Return the error for the first fault of a value that does not match the model.

    The first `above` steps of a fault's path lead to the value, and are left out.
    """
    fault = error.errors(include_url=False)[0]
    steps = fault["loc"][above:]
    root = schema = _schema(model)
    path: list[str] = []
    for place, step in enumerate(steps, 1):
        inner = _inside(root, schema, step)
        if inner is None and step == schema.get("title") and place < len(steps):
            continue  # the name of one variant of a union
        if inner is None:
            if fault["type"] == "extra_forbidden":
                name = ".".join([*path, str(step)])
                fields = ", ".join(schema["properties"])
                return CallError(f"{name}: no such field; allowed: {fields}", name, fields)
            break  # an entry of a list or a table has no name
        path.append(str(step))
        schema = inner
    name = ".".join(path) or "body"
    allowed = in_words(schema)
    match fault["type"]:
        case "missing":
            return CallError(f"{name}: is missing; it must be {allowed}", name, allowed)
        case "value_error":  # a check in the model
            return CallError(f"{name}: {fault.get('ctx', {})['error']}", name, allowed)
    given = "" if name == "body" else f", not {_quoted(fault['input'])}"
    return CallError(f"{name}: must be {allowed}{given}", name, allowed)


def _quoted(value: object) -> str:
    return _NULL if value is None else reprlib.repr(value)


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _inside(root: Schema, schema: Schema, step: int | str) -> Schema | None:
    """Return the schema of a field, or of the objects in a list; None for any other step."""
    if isinstance(step, str):
        found = schema.get("properties", {}).get(step)
        return _followed(root, found) if found is not None else None
    found = _followed(root, schema.get("items", {}))
    return found if "properties" in found else None


def _followed(root: Schema, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return found


def in_words(schema: Schema) -> str:
    """Return a noun phrase for the values that a schema allows."""
    match schema:
        case {"enum": names}:
            return "one of " + ", ".join(_choices(names))
        case {"const": name}:
            return str(name)
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "integer" | "number"}:
            what = "a whole number" if schema["type"] == "integer" else "a number"
            return what + _span(schema)
        case {"properties": fields}:
            return f"an object with the fields {', '.join(fields)}"
        case {"description": description}:
            return str(description)
    kinds = {"object": "a JSON object", "array": "a list", "string": "text"}
    return kinds[schema["type"]]


def _choices(names: Iterable[object]) -> list[str]:
    """Return the allowed values, except the empty text, which means that nothing is chosen."""
    return [str(name) for name in names if name != ""]


def _span(schema: Schema) -> str:
    low, high = _number(schema.get("minimum")), _number(schema.get("maximum"))
    if low and high:
        return f" from {low} to {high}"
    above = _number(schema.get("exclusiveMinimum"))
    ends = (("at most", high), ("at least", low), ("above", above))
    return "".join(f", {word} {bound}" for word, bound in ends if bound)


def _number(bound: float | None) -> str:
    return "" if bound is None else f"{bound:.12g}" if isinstance(bound, float) else f"{bound}"


# ---- the document --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an API, with its input and its answers."""

    method: Literal["GET", "PUT", "POST", "DELETE"]
    path: str
    """The path, with a parameter in braces, as in `/shadows/{name}`."""
    summary: str
    answers: type[BaseModel] | str
    """The model of a JSON answer, or the media type of any other answer; empty if the answer has no
    content.
    """
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    refusals: Mapping[int, str] = field(default_factory=dict)
    """The reasons for refusals, by status, in addition to those of all calls (`Api.refusals`)."""
    other_answers: Mapping[int, type[BaseModel]] = field(default_factory=dict)
    status: int = 200
    parameter: str = ""
    """The meaning of the path's parameter, which is a number if its name is `id`."""
    is_open: bool = False
    """Whether the call works without the token."""


@dataclass(frozen=True)
class Api:
    """The common properties of an API's calls; `refusals` has the reason for each status."""

    title: str
    description: str
    token: str = "the inner token, which `make token` prints"
    refusals: Mapping[int, str] = field(
        default_factory=lambda: {403: "a wrong host name, or a call from another site's web page"}
    )
    refusals_of_bodies: Mapping[int, str] = field(default_factory=dict)


def document(api: Api, calls: Sequence[Call]) -> Schema:
    models = {Refusal} | {model for call in calls for model in _models(call)}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "validation") for model in ordered], ref_template=_REFERENCE + "{model}"
    )
    paths: dict[str, Schema] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(api, call)
    return {
        "openapi": "3.1.0",
        "info": {"title": api.title, "version": "1", "description": api.description},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": api.token,
                }
            },
        },
    }


def _models(call: Call) -> Iterator[type[BaseModel]]:
    for model in (call.body, call.answers, *call.other_answers.values()):
        if isinstance(model, type):
            yield model


def _operation(api: Api, call: Call) -> Schema:
    if isinstance(call.answers, str):
        done: Schema = {"description": "done"}
        if call.answers:
            done["content"] = {call.answers: {}}
    else:
        done = _answer(call.answers.__doc__ or "done", call.answers)
    of_bodies = api.refusals_of_bodies if call.body else {}
    refusals = {**api.refusals, **of_bodies, **call.refusals}
    if call.body or call.query:
        refusals.setdefault(400, "a field is invalid")
    if not call.is_open:
        refusals.setdefault(401, "the token is missing or wrong")
    answers = {
        call.status: done,
        **{
            status: _answer(model.__doc__ or "", model)
            for status, model in call.other_answers.items()
        },
        **{status: _answer(reason, Refusal) for status, reason in refusals.items()},
    }
    operation: Schema = {"summary": call.summary}
    if parameters := [*_path_parameters(call), *_query_parameters(call.query)]:
        operation["parameters"] = parameters
    if call.body:
        operation["requestBody"] = {"required": True, "content": _json(call.body)}
    operation["responses"] = {str(status): answers[status] for status in sorted(answers)}
    operation["security"] = [{}] if call.is_open else [{}, {"token": []}]
    return operation


def _path_parameters(call: Call) -> Iterator[Schema]:
    for name in re.findall(r"\{(\w+)\}", call.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": call.parameter,
            "schema": {"type": "integer", "minimum": 0} if name == "id" else {"type": "string"},
        }


def _query_parameters(model: type[BaseModel] | None) -> Iterator[Schema]:
    if model is None:
        return
    schema = model.model_json_schema()
    for name, given in schema["properties"].items():
        about = {"description": given.pop("description")} if "description" in given else {}
        required = name in schema.get("required", ())
        # A list is one parameter, separated by commas.
        form = {"style": "form", "explode": False} if given["type"] == "array" else {}
        yield {"name": name, "in": "query", "required": required, **about, **form, "schema": given}


def _answer(description: str, model: type[BaseModel]) -> Schema:
    return {"description": description.rstrip("."), "content": _json(model)}


def _json(model: type[BaseModel]) -> Schema:
    return {"application/json": {"schema": {"$ref": _REFERENCE + model.__name__}}}


# ---- the tables ----------------------------------------------------------------------------------


def tables(document: Schema) -> str:
    """Return the OpenAPI document's calls and their fields as Markdown."""
    lines = ["| call | does | takes | answers |", "| --- | --- | --- | --- |"]
    lines += [
        _row(f"`{method.upper()} {path}`", one["summary"], _takes(one), _answers(document, one))
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    ]
    for name, schema in document["components"]["schemas"].items():
        if "properties" in schema:
            lines += ["", f"## {name}", "", schema.get("description", ""), ""]
            lines += _fields(schema)
    return "\n".join(lines) + "\n"


def _fields(schema: Schema) -> Iterator[str]:
    yield "| field | value | meaning |"
    yield "| --- | --- | --- |"
    for name, given in schema["properties"].items():
        value = _value(given)
        if name not in schema.get("required", ()):
            value += ", optional"
        default = given.get("default")
        if isinstance(default, str | int | float) and default != "":
            value += f", default `{json.dumps(default)}`"
        yield _row(f"`{name}`", value, given.get("description", ""))


def _value(schema: Schema) -> str:
    match schema:
        case {"$ref": reference}:
            return _linked(reference)
        case {"anyOf": choices}:
            return (", or " if "array" in str(choices) else " or ").join(map(_value, choices))
        case {"enum": names}:
            return ", ".join(f"`{name}`" for name in _choices(names))
        case {"const": name}:
            return f"`{name}`"
        case {"type": "array", "prefixItems": items}:
            return f"[{', '.join(_value(item) for item in items)}]"
        case {"type": "array"}:
            most = f", at most {schema['maxItems']} entries" if "maxItems" in schema else ""
            if "items" not in schema:
                return "list"
            entries = _value(schema["items"])
            if not entries.startswith("["):
                entries = entries.replace("number", "numbers")
            return f"list of {entries}{most}"
        case {"type": "object", "additionalProperties": dict(inner)} if inner:
            return f"name → {_value(inner)}"
        case {"type": "integer" | "number"}:
            return in_words(schema).removeprefix("a ")
        case {"type": "boolean"}:
            return "true or false"
        case {"type": kind}:
            return {"string": "text", "object": "object", "null": "null"}[kind]
    return "any"


def _linked(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return f"[{name}](#{name.lower()})"


def _takes(operation: Schema) -> str:
    taken = [_parameter(one) for one in operation.get("parameters", ())]
    if body := operation.get("requestBody"):
        media, content = next(iter(body["content"].items()))
        reference = content["schema"].get("$ref")
        taken.append(_linked(reference) if reference else media)
    return ", ".join(taken)


def _parameter(one: Schema) -> str:
    text = f"`{one['name']}` in the {one['in']}"
    return f"{text} ({one['description']})" if one.get("description") else text


def _answers(document: Schema, operation: Schema) -> str:
    answers, refused = [], []
    for status, answer in operation["responses"].items():
        media, content = next(iter(answer.get("content", {"": {}}).items()))
        reference = content.get("schema", {}).get("$ref", "")
        if reference == _REFERENCE + Refusal.__name__:
            refused.append(status)
            continue
        name = reference.rpartition("/")[2]
        schema = document["components"]["schemas"].get(name, {})
        value = _value(schema) if "items" in schema else _linked(reference) if name else media
        answers.append(value if status == "200" else f"{status} {value}")
    return "; ".join([*answers, *([", ".join(refused)] if refused else [])])


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
