"""`doorbuster worker` that also calls functions of these tests; arguments: broker, places, code."""

import sys

from lab.executors import celery as farm

farm.CALLABLE.append("tests.lab.")
farm.CODE = sys.argv[3]
farm.serve(sys.argv[1], int(sys.argv[2]))
