"""Gunicorn's configuration: one process, an event loop for streams, threads for pages.

Owns: how the console is served.
"""

from lab.console.settings import LAB

bind = f"{LAB.lab_host if ':' not in LAB.lab_host else f'[{LAB.lab_host}]'}:{LAB.lab_port}"
wsgi_app = "lab.console.asgi:application"
proc_name = "doorbuster-lab"
worker_class = "lab.console.serving.ConsoleWorker"
workers = 1  # a viewer costs the loop a few writes a second; one look at the gateway serves all
timeout = 120
graceful_timeout = 5
keepalive = 30
loglevel = "warning"
control_socket_disable = True
