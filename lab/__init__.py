"""The lab: experiments, their results, the command line and the console."""
