"""The lab sheets as data: steps, commands, predictions, bands and questions."""
