"""The table of all commands, in the order in which users need them."""

from functools import partial

import click

from doorbuster.program import Entry, Group, Program, Section

_inside = partial(Entry, goes_inside=True)

# fmt: off
_SECTIONS = (
    Section("The appliance", (
        Entry("doctor", "runtime.commands:doctor",
              "Check this machine and print the fix for each fault"),
        Entry("up", "runtime.commands:up", "Start everything and wait until it is healthy"),
        Entry("status", "runtime.commands:status",
              "Show the services, and how long they have been running"),
        Entry("logs", "runtime.commands:logs", "Follow the logs"),
        Entry("down", "runtime.commands:down", "Stop everything"),
        Entry("reset", "runtime.commands:reset",
              "Stop everything and empty the state, but keep the results"),
    )),
    Section("Experiments", (
        _inside("simulate", "lab.cli.experiments:simulate",
                "Run an experiment in the simulator (seconds, no appliance)"),
        _inside("compare", "lab.cli.experiments:compare",
                "Compare policies live in the same rush of customers"),
        _inside("run", "lab.cli.experiments:run",
                "Run a spec's experiment on the engine that the spec names"),
        Entry("launch", "lab.cli.server:launch",
              "Launch an experiment on a console (--server URL)"),
        _inside("reproduce", "lab.cli.reproduce:reproduce",
                "Reproduce a paper's figures and tables"),
        _inside("leaderboard", "lab.cli.leaderboard:leaderboard",
                "Rank the policies by their distance from the bound"),
        Group("live", "Change the running shop and the live run in progress.", (
            _inside("policy", "lab.cli.live:policy",
                    "Let the gateway use another policy from now on"),
            _inside("load", "lab.cli.live:load", "Let more or fewer customers arrive from now on"),
            _inside("abandonment", "lab.cli.live:abandonment",
                    "Change what happens when a customer leaves"),
            _inside("fault", "lab.cli.live:fault",
                    "Cause a fault for a limited time: a slow database"),
        )),
        Group("results", "List, show, draw and publish results.", (
            _inside("list", "lab.cli.results:listed",
                    "List your results, and the results that come with Doorbuster"),
            _inside("show", "lab.cli.results:show", "Print the tables of a result"),
            Entry("export", "lab.cli.server:exported",
                  "Download a result of a console as a bundle (--server URL)"),
            Entry("import", "lab.cli.server:imported", "Send a bundle to a console (--server URL)"),
            _inside("draw", "lab.cli.results:draw",
                    "Draw the tables and figures of a result again"),
            _inside("publish", "lab.cli.results:publish", "Write every result to PostgreSQL again"),
            Entry("reference", "lab.cli.results:reference",
                  "Generate the results that come with Doorbuster (takes hours)"),
        )),
    )),
    Section("Policies", (
        Group("policy", "List policies; write, check, test and score your own.", (
            Entry("list", "lab.cli.policies:policies", "Describe every included policy"),
            Entry("new", "lab.cli.policies:new", "Create a policy of your own from a template"),
            Entry("check", "lab.cli.policies:check",
                  "Check your policy, and print a line for each fault"),
            Entry("test", "lab.cli.policies:test",
                  "Run the tests of your policies in a confined process"),
            Entry("score", "lab.cli.policies:score", "Compare your policies with others"),
        )),
    )),
    Section("A class", (
        Group("class", "Create accounts of the lab console.", (
            _inside("teacher", "lab.console.people.commands:teacher",
                    "Create a teacher's account, or give it a new password"),
            _inside("student", "lab.console.people.commands:student",
                    "Create a student's account, or give it a new password"),
            _inside("students", "lab.console.people.commands:students",
                    "Create the accounts named in a CSV file"),
        )),
    )),
    Section("Other", (
        _inside("capacity", "lab.cli.live:capacity", "Measure the capacity of the live shop"),
        Entry("worker", "lab.cli.experiments:worker", "Run simulations for commands with --celery"),
        _inside("platform", "lab.cli.platform:platform",
                "Host several shops with TLS and a CPU manager"),
        _inside("profile-connections", "lab.cli.profile:profile_connections",
                "Measure the CPU cost of a TLS connection"),
        _inside("estimates", "lab.cli.estimates:estimates_command",
                "Show how long every experiment takes on this machine"),
        Entry("certs", "runtime.commands:certs",
              "Create or show the certificate of gateway and console"),
        Entry("token", "runtime.commands:token", "Print the header for calls of the admin API"),
        Entry("exec", "runtime.commands:execute", "Run a program with the appliance's settings"),
        Entry("compose", "runtime.commands:compose_command",
              "Run docker compose for the appliance's containers"),
        Entry("schema", "lab.cli.experiments:schema", "Print the JSON schema of specs"),
        Group("bench", "Measure a part of Doorbuster.", (
            Entry("ads", "bench.ads:main", "The ad server's speed, by number of threads"),
            Entry("cancel", "bench.cancel:main",
                  "The time that a query still runs after its customer left"),
            Entry("class", "bench.classroom.command:main",
                  "Thirty students who use one console (takes 35 minutes)"),
            Entry("console", "bench.console.command:main",
                  "The console's page times during a rush"),
            Entry("flood", "bench.flood:main",
                  "Sessions kept in a flood: DOOR, HAProxy and nginx"),
            Entry("gateway", "bench.gateway:main", "The gateway compared with nginx and HAProxy"),
            Entry("growth", "bench.growth.command:main",
                  "The growth of costs, up to 100 times the usual sizes"),
            Entry("handshakes", "bench.handshakes:main", "The CPU time of TLS connections"),
            Entry("policies", "bench.policies:main",
                  "The CPU time of a decision, for every policy"),
            Entry("sessions", "bench.sessions:main", "The cost of a page, by session store"),
            Entry("simulator", "bench.simulator:main", "The simulator compared with SimPy and Ciw"),
            Entry("speeds", "bench.speeds:main", "Write the costs on which estimates are based"),
        )),
    )),
)
# fmt: on

OLDER = {
    "new-policy": "policy new",
    "check-policy": "policy check",
    "test-own": "policy test",
    "scoreboard": "policy score",
    "policies": "policy list",
    "report": "results draw",
    "publish": "results publish",
    "reference-results": "results reference",
    "teacher": "class teacher",
    "students": "class students",
}
"""The present name of each renamed command, by its former name."""

main = Program(
    _SECTIONS,
    OLDER,
    name="doorbuster",
    help="Overload control for a web shop: run experiments, compare policies, write your own.",
)
click.version_option(package_name="doorbuster", message="%(prog)s %(version)s")(main)
