"""The parts of the lab sheets as data: steps, commands, predictions, bands and questions."""
