"""Executors: they run one function on many tasks, on this machine's cores or on Celery workers."""
