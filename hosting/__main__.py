"""`python -m hosting`, from its first moment on.

Owns: what ends it while its commands are being imported. Must not know: the commands.
"""

from runtime import early_signals


def main() -> None:
    """Import the commands and carry out the one that is asked for."""
    with early_signals.ending_at_once():
        from hosting.commands import main as commands
    commands(prog_name="python -m hosting")


if __name__ == "__main__":
    main()
