"""The runner: it plans, interleaves, resumes and times the runs of experiments."""
