"""`doorbuster worker` that also calls functions of these tests; arguments: broker, places, code."""

import sys

from lab.executors import celery as celery_executor

celery_executor.CALLABLE.append("tests.lab.")
celery_executor.CODE = sys.argv[3]
celery_executor.serve(sys.argv[1], int(sys.argv[2]))
