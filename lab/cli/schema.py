"""The command `doorbuster schema`: the JSON schema of specs, for editors and programs."""

import json

import click

from lab.cli.faults import LabCommand
from lab.spec.experiment import Spec


@click.command(cls=LabCommand)
def schema() -> None:
    """Print the JSON schema of specs.

    The schema has every key with its type. `doorbuster run` checks more, for example that a policy
    has a given parameter.
    """
    click.echo(json.dumps(Spec.model_json_schema(), indent=1, ensure_ascii=False))
