"""The executors, which run a function on many tasks, on local cores or on Celery workers."""
