"""Executors: the same pure function of many tasks, on this machine's cores or on Celery workers."""
