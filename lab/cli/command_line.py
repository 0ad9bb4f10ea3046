"""The command `doorbuster`, from its first moment on.

Owns: what ends it while its commands are being imported. Must not know: the commands
(lab/cli/commands.py).
"""

from runtime import early_signals


def main() -> None:
    """Import the commands and carry out the one that is asked for."""
    with early_signals.ending_at_once():
        from lab.cli.commands import main as commands
    commands()


if __name__ == "__main__":
    main()
