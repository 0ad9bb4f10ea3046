"""A served OpenAPI document, and answers that are checked against it."""

from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator


class Described:
    """The document, which must be valid."""

    def __init__(self, document):
        faults = [fault.message for fault in OpenAPIV31SpecValidator(document).iter_errors()]
        assert faults == []
        self.document = document

    @property
    def calls(self):
        """(method, path) of every call."""
        return {
            (method.upper(), path)
            for path, methods in self.document["paths"].items()
            for method in methods
        }

    def faults(self, method, path, status, answer):
        """Return the differences between a JSON answer and its description, a line each."""
        described = self.document["paths"][path][method.lower()]["responses"]
        assert str(status) in described, f"{method} {path} answers {status}, which is not described"
        return self._faults(described[str(status)], answer)

    def faults_of_body(self, method, path, body):
        """Return the reasons why the call does not take this body."""
        return self._faults(self.document["paths"][path][method.lower()]["requestBody"], body)

    def _faults(self, message, value):
        schema = message["content"]["application/json"].get("schema", {})
        # references lead into the document
        whole = {**schema, "components": self.document["components"]}
        checker = Draft202012Validator(whole, format_checker=FormatChecker())
        return [f"{fault.json_path}: {fault.message}" for fault in checker.iter_errors(value)]
