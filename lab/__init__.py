"""The lab: experiments, and later the console that launches them."""
