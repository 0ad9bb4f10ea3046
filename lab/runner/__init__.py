"""The runner, which plans, resumes and times the runs of experiments."""
