"""The playground: one experiment that runs in a visitor's browser as well as here."""
