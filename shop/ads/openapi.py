"""The OpenAPI description of the HTTP API, made from the models that check it.

Owns: which call takes and answers which model. Must not know: what calls do.
"""

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shop.ads import schemas

_REFERENCE = "#/components/schemas/{model}"
_MODELS: tuple[type[BaseModel], ...] = (
    schemas.NewContract, schemas.Candidates, schemas.Selection, schemas.Contract,
    schemas.Contracts, schemas.Report, schemas.Publishers, schemas.PublisherReport,
    schemas.Refusal, schemas.CapacityRefusal, schemas.Health,
)  # fmt: skip


@cache
def document() -> dict[str, Any]:
    """The whole description."""
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template=_REFERENCE
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Doorbuster ad server",
            "version": "1",
            "description": "Banners for pages, and the contracts behind them.",
        },
        "paths": _paths(),
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "what `python -m shop.ads token` prints",
                }
            },
        },
    }


def _paths() -> dict[str, Any]:
    refused = {"400": _answer("a field is wrong; nothing is stored", schemas.Refusal)}
    missing = {"404": _answer("there is none of that id", schemas.Refusal)}
    closed = {"401": _answer("the token is missing or wrong", schemas.Refusal)}
    locked: dict[str, Any] = {"security": [{"token": []}]}
    return {
        "/ads/select": {
            "get": {
                "summary": "Banners for the slots of one page; their impressions are counted",
                "parameters": _query(schemas.SelectQuery),
                "responses": {
                    "200": _answer("the banners", schemas.Selection), **refused, **closed,
                },
                "security": [{}, {"token": []}],  # none on the ad server's own port
            }
        },
        "/ads/candidates": {
            "get": {
                "summary": "The banners that a slot could show now, with their weights",
                "parameters": _query(schemas.CandidatesQuery),
                "responses": {
                    "200": _answer("the candidates, the heaviest first", schemas.Candidates),
                    **refused, **closed,
                },
                "security": [{}, {"token": []}],  # none on the ad server's own port
            }
        },
        "/ads/banner/{id}.svg": {
            "get": {
                "summary": "A banner's picture",
                "parameters": [_id("banner")],
                "responses": {
                    "200": {"description": "the picture", "content": {"image/svg+xml": {}}},
                    **missing,
                },
            }
        },
        "/ads/click/{id}": {
            "get": {
                "summary": "Count a click on a banner",
                "parameters": [
                    _id("banner"),
                    {
                        "name": "page",
                        "in": "query",
                        "description": "id of the publisher's page where it was made",
                        "schema": {"type": "integer", "minimum": 0},
                    },
                ],
                "responses": {"302": {"description": "to its landing page"}, **missing},
            }
        },
        "/ads/landing/{id}": {
            "get": {
                "summary": "Where a click lands",
                "parameters": [_id("banner")],
                "responses": {
                    "200": {"description": "a page", "content": {"text/html": {}}},
                    **missing,
                },
            }
        },
        "/ads/contracts": {
            "get": {
                "summary": "Contracts in the order of their ids",
                "parameters": [
                    {
                        "name": "after",
                        "in": "query",
                        "description": "begin behind the contract of this id",
                        "schema": {"type": "integer", "minimum": 0},
                    }
                ],
                "responses": {
                    "200": _answer("some of them", schemas.Contracts), **refused, **closed,
                },
                **locked,
            },
            "post": {
                "summary": "Take a contract on",
                "requestBody": {"required": True, "content": _json(schemas.NewContract)},
                "responses": {
                    "201": _answer("accepted", schemas.Contract),
                    "409": _answer("too few impressions are left", schemas.CapacityRefusal),
                    **refused,
                    **closed,
                },
                **locked,
            },
        },
        "/ads/contracts/{id}": _of_one("get", "contract", "One contract", schemas.Contract),
        "/ads/contracts/{id}/end": _of_one(
            "post", "contract", "Stop placing a contract's banner", schemas.Contract
        ),
        "/ads/contracts/{id}/report": _of_one(
            "get", "contract", "Delivered, pace against schedule, clicks", schemas.Report
        ),
        "/ads/publishers": {
            "get": {
                "summary": "All publishers",
                "responses": {"200": _answer("all of them", schemas.Publishers), **closed},
                **locked,
            }
        },
        "/ads/publishers/{id}/report": _of_one(
            "get", "publisher", "Shown and clicked on each of its pages", schemas.PublisherReport
        ),
        "/ads/health": {
            "get": {
                "summary": "Whether this process serves",
                "responses": {"200": _answer("it does", schemas.Health)},
            }
        },
        "/ads/metrics": {
            "get": {
                "summary": "What all processes have done, for Prometheus",
                "responses": {
                    "200": {"description": "metrics", "content": {"text/plain": {}}}, **closed,
                },
                "security": [{}, {"token": []}],  # none on the ad server's own port
            }
        },
    }  # fmt: skip


def _of_one(method: str, of: str, summary: str, model: type[BaseModel]) -> dict[str, Any]:
    return {
        method: {
            "summary": summary,
            "parameters": [_id(of)],
            "responses": {
                "200": _answer(summary, model),
                "401": _answer("the token is missing or wrong", schemas.Refusal),
                "404": _answer("there is none of that id", schemas.Refusal),
            },
            "security": [{"token": []}],
        }
    }


def _query(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema["required"],
            "description": given.pop("description"),
            "schema": given,
            # One parameter with commas, not one per concept.
            **({"style": "form", "explode": False} if given["type"] == "array" else {}),
        }
        for name, given in schema["properties"].items()
    ]


def _id(of: str) -> dict[str, Any]:
    return {
        "name": "id",
        "in": "path",
        "required": True,
        "description": f"a {of}'s id",
        "schema": {"type": "integer", "minimum": 0},
    }


def _answer(description: str, model: type[BaseModel]) -> dict[str, Any]:
    return {"description": description, "content": _json(model)}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
