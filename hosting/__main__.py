"""The entry point of `python -m hosting`; Ctrl-C works even while its modules are imported."""

from common import early_signals


def main() -> None:
    with early_signals.ending_at_once():
        from hosting.commands import main as commands
    commands(prog_name="python -m hosting")


if __name__ == "__main__":
    main()
