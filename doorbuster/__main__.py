"""The entry point of `doorbuster`; Ctrl-C works even while its modules are imported."""

from common import early_signals


def main() -> None:
    """Carry out the command in the arguments."""
    with early_signals.ending_at_once():
        from doorbuster.commands import main as program
    program(prog_name="doorbuster")


if __name__ == "__main__":
    main()
