"""Locust's entry point: `locust -f loadgen/locustfile.py`.

Usually, Locust keeps a given number of users active. Here, customers instead arrive at planned
times, which do not depend on the shop (an open loop). Locust therefore starts only one `Arrivals`
user per process, which starts every customer as a separate Locust user. The web UI's number of
users counts customers and arrival processes.
"""

import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gevent
from flask import Flask, Response, jsonify, request
from locust import LoadTestShape, User, events, task
from locust.dispatch import UsersDispatcher
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, Runner, WorkerNode, WorkerRunner

from common.settings import SettingsError
from loadgen.customers.browser import Fetched, HostError, ShopAddress
from loadgen.customers.shop_pages import PageRequest
from loadgen.options import OPTIONS, OptionError, gateway_url, plan_of, plan_of_master
from loadgen.plan import LoadPlan, Part
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.roles import Alone, Master, Role, Worker
from loadgen.run import LoadRun

logger = logging.getLogger(__name__)

_INTERRUPTED = 130
"""The exit status of a master that is interrupted while it waits for workers."""

_roles: dict[int, Role] = {}


def role_of(environment: Environment) -> Role:
    return _roles.get(id(environment)) or Role()


def _runner(environment: Environment) -> Runner:
    assert environment.runner is not None
    return environment.runner


def _host(environment: Environment) -> str:
    return environment.host or gateway_url()  # None when the web UI's field is empty


def _options(environment: Environment) -> Namespace:
    options: Namespace | None = environment.parsed_options
    assert options is not None
    return options


class Customer(User):
    def __init__(self, environment: Environment, play: Callable[[], object] | None = None) -> None:
        super().__init__(environment)
        self._play = play

    @task
    def session(self) -> None:
        try:
            if self._play is not None:
                self._play()
        except Exception as error:
            self.environment.events.user_error.fire(
                user_instance=self, exception=error, tb=error.__traceback__
            )
            logger.exception("a session ended because of an error in the load generator")
        raise StopUser


class Arrivals(User):
    """The Locust user that starts this process's part of the sessions."""

    @task
    def arrivals(self) -> None:
        role_of(self.environment).play(self._stop_customers)
        raise StopUser

    def _stop_customers(self) -> None:
        runner = _runner(self.environment)
        runner.stop_users({Customer.__name__: runner.user_classes_count[Customer.__name__]})


class UntilTheLastSessionEnds(LoadTestShape):
    """The load shape, which shows Locust when the run has ended."""

    def tick(self) -> tuple[int, float] | None:
        assert self.runner is not None
        return None if role_of(self.runner.environment).over() else (1, 1)


class OneArrivalProcessEach(UsersDispatcher):
    """A dispatcher that starts one `Arrivals` user per process and does not control the
    customers.
    """

    def __init__(self, worker_nodes: Iterable[WorkerNode], user_classes: list[type[User]]) -> None:
        self._nodes = list(worker_nodes)
        self._asked = False

    @property
    def dispatch_in_progress(self) -> bool:
        return self._asked

    def new_dispatch(self, *_: object, **__: object) -> None:
        self._asked = True

    def __next__(self) -> dict[str, dict[str, int]]:
        if not self._asked:
            raise StopIteration
        self._asked = False
        return {node.id: {Arrivals.__name__: 1} for node in self._nodes}

    def add_worker(self, worker_node: WorkerNode) -> None:
        self._nodes.append(worker_node)

    def remove_worker(self, worker_node: WorkerNode) -> None:
        self._nodes = [node for node in self._nodes if node.id != worker_node.id]


@events.init_command_line_parser.add_listener
def _add_options(parser: Any) -> None:
    for option in OPTIONS:
        how: dict[str, Any] = {"metavar": option.metavar, "default": option.default}
        if option.is_flag:
            how = {"action": "store_true", "default": False}
        parser.add_argument(
            option.flag,
            **how,
            env_var=option.variable,
            help=option.meaning.replace("%", "%%"),
            include_in_web_ui=option.in_web_ui,
        )


@events.init.add_listener
def _take_role(environment: Environment, runner: Any, web_ui: Any, **_: object) -> None:
    environment.dispatcher_class = OneArrivalProcessEach
    try:
        environment.host = _host(environment)
    except SettingsError as error:
        print(f"locust: error: {error}", file=sys.stderr)
        sys.exit(2)
    _interrupt_the_main_greenlet_alone(environment)
    if isinstance(runner, WorkerRunner):
        _roles[id(environment)] = Worker(environment)
        return
    try:
        _checked(vars(_options(environment)), _host(environment))
    except (OptionError, HostError) as error:
        print(f"locust: error: {error}", file=sys.stderr)
        sys.exit(2)
    role = Master(environment) if isinstance(runner, MasterRunner) else Alone(environment)
    _roles[id(environment)] = role
    if web_ui is not None:
        _refuse_bad_starts(web_ui.app, environment)


@events.test_start.add_listener
def _started(environment: Environment, **_: object) -> None:
    role = role_of(environment)
    if isinstance(role, Alone | Master):
        plan, address = _checked(vars(_options(environment)), _host(environment))
    elif not isinstance(role, Worker) or role.given is None:
        logger.warning(
            "this worker joined during a run, so it gets no sessions before the next run"
        )
        return
    else:
        try:
            plan = plan_of_master(role.given)
            address = ShopAddress.from_url(_host(environment), plan.authority)
        except (OptionError, HostError) as error:
            role.cannot_start(str(error))  # a file of the master may be missing here
            return

    def make_run(part: Part) -> LoadRun:
        return LoadRun(plan, part, address, _reporter(environment, plan), _spawner(environment))

    role.started(plan, _host(environment), make_run)


@events.test_stopping.add_listener
def _stopping(environment: Environment, **_: object) -> None:
    role_of(environment).stopping()


@events.test_stop.add_listener
def _stopped(environment: Environment, **_: object) -> None:
    role_of(environment).stopped()


@events.quitting.add_listener
def _quitting(environment: Environment, **_: object) -> None:
    if isinstance(environment.runner, WorkerRunner):
        # Locust's worker signs off when it quits, so it must send its last report before.
        environment.runner.stop()


def _interrupt_the_main_greenlet_alone(environment: Environment) -> None:
    """Make Ctrl-C end the run in the greenlet that Locust expects.

    Python raises KeyboardInterrupt in the running greenlet, which may be a customer's. SIGTERM gets
    the same handler, because in a headless run with a shape, Locust handles it only after the run.
    """
    hub = gevent.get_hub()
    options, runner = _options(environment), _runner(environment)

    def interrupt() -> None:
        waits_for_workers = isinstance(runner, MasterRunner) and runner.shape_greenlet is None
        if options.headless and waits_for_workers:
            # Locust would end with a traceback, without stopping the workers that have joined
            runner.quit()
            hub.handle_system_error(SystemExit, SystemExit(_INTERRUPTED))
        else:
            hub.handle_system_error(KeyboardInterrupt, KeyboardInterrupt())

    gevent.signal_handler(signal.SIGINT, interrupt)
    if options.headless and not options.worker:
        gevent.signal_handler(signal.SIGTERM, interrupt)


def _checked(given: Mapping[str, object], host: str) -> tuple[LoadPlan, ShopAddress]:
    plan = plan_of(given)
    return plan, ShopAddress.from_url(host, plan.authority)


def _refuse_bad_starts(app: Flask, environment: Environment) -> None:
    """Make the web UI's start button show the same error line as the command line."""

    @app.before_request
    def _look_at_start() -> Response | None:
        if not request.path.endswith("/swarm"):
            return None
        form = request.form.to_dict()
        try:
            _checked(vars(_options(environment)) | form, form.get("host") or _host(environment))
            if isinstance(environment.runner, MasterRunner) and not environment.runner.worker_count:
                raise OptionError(
                    "--master", "no worker has joined yet; start a worker with --worker"
                )
        except (OptionError, HostError) as error:
            return jsonify({"success": False, "message": str(error), "host": environment.host})
        return None


def _spawner(environment: Environment) -> Callable[[Callable[[], object]], None]:
    def spawn(play: Callable[[], object]) -> None:
        Customer(environment, play).start(_runner(environment).user_greenlets)

    return spawn


def _reporter(
    environment: Environment, plan: LoadPlan
) -> Callable[[Attempt, PageRequest, Fetched], None]:
    """Return a function that adds an attempt to Locust's statistics: its page type, its duration in
    real milliseconds and, unless it completed, its outcome as a failure.
    """
    fire = environment.events.request.fire

    def report(attempt: Attempt, request: PageRequest, fetched: Fetched) -> None:
        assert attempt.started_s is not None
        assert attempt.finished_s is not None
        failure = None
        if fetched.outcome is not AttemptOutcome.COMPLETED:
            reason = f": {fetched.reason}" if fetched.reason else ""
            failure = f"{attempt.outcome}{reason}"
        fire(
            request_type=request.method,
            name=attempt.page,
            response_time=(attempt.finished_s - attempt.started_s) / plan.time_scale * 1000,
            response_length=len(fetched.body),
            exception=failure,
            context={},
            url=request.path,
        )

    return report
