"""The entry point of `doorbuster`, which can be interrupted while the commands are imported."""

from runtime import early_signals


def main() -> None:
    """Import the commands and carry out the chosen one."""
    with early_signals.ending_at_once():
        from lab.cli.commands import main as commands
    commands()


if __name__ == "__main__":
    main()
