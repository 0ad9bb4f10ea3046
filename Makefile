# All commands for people. Each target calls a command of .venv; ARGS= passes further arguments to it.
#
#   make up RUNTIME=native PYTHON=python3.12      make compare ARGS="--rho 1.4 --seed 7"

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.SUFFIXES:

# native or docker; by default, where the appliance runs, otherwise Docker if its engine answers,
# otherwise native
RUNTIME ?=
ARGS ?=
export RUNTIME PYTHON FORCE
# With it, every process would compile every module again, which takes two seconds of CPU.
unexport PYTHONDONTWRITEBYTECODE
ifdef FIRST_LOOK # make up FIRST_LOOK=0: the console's first start launches no comparison
export DOORBUSTER_FIRST_LOOK := $(FIRST_LOOK)
endif

bin := .venv/bin
doorbuster := $(bin)/doorbuster
bootstrap := runtime/bootstrap.sh
python_files := doorbuster common gateway shop hosting loadgen simulator lab runtime dashboards bench ansible docs/conf.py docs/_extensions/*.py tests
existing = $(wildcard $(python_files))

##@ The appliance

.PHONY: up down status ps logs compose images-save images-offline sbom doctor certs token reset
up: environment ## start everything, wait until all is healthy, print the URLs
	@$(doorbuster) up
down: ## stop everything
	@if [ -e .venv ] || [ -d state ] || [ -e .env ] || [ -d /var/lib/doorbuster ]; then $(bootstrap) && $(doorbuster) down; else echo "Nothing runs: it was never started here."; fi
status ps: environment ## show each service with its state, port, CPUs and running time
	@$(doorbuster) status
logs: environment ## follow the logs (ARGS="shop gateway": only these)
	@$(doorbuster) logs $(ARGS) || [ $$? = 130 ]
compose: environment ## docker compose for the appliance's containers (ARGS="exec shop bash")
	@$(doorbuster) compose $(ARGS)
images-save: environment ## save the containers' images in one file, for machines without a registry (FILE=doorbuster-images.tar)
	@$(bin)/python -m runtime.compose.archive $(if $(FILE),'$(FILE)')
images-offline: ## build substitutes for the base images from the distribution's packages, for labs without a registry (as root)
	@docker/offline/build.sh $(ARGS)
sbom: environment ## list the images' contents in build/sbom: libraries (CycloneDX), Debian packages
	@docker/sbom.sh
doctor: environment ## check this machine, and print the fix for each fault
	@$(doorbuster) doctor
certs: environment ## create or show the certificate of gateway and console (KEY=rsa-7680: another kind of key; ARGS=--replace: a new one)
	@$(doorbuster) certs $(if $(KEY),--key $(KEY)) $(ARGS)
token: environment ## print the header for calls of the admin API and the controller: curl -H @<(make token) localhost:8081/snapshot
	@$(doorbuster) token
reset: environment ## empty the state (database, logs) but keep the results; asks first, unless FORCE=1
	@$(doorbuster) reset

##@ Experiments

.PHONY: compare compare-full simulate reproduce-lifo-pri reproduce-sbac reproduce-connection-sentry reproduce-ad-server reproduce-edragon leaderboard reference-results capacity calibrate playground bench-ads bench-cancel bench-class bench-console bench-flood bench-gateway bench-growth bench-handshakes bench-policies bench-sessions bench-simulator bench-speeds
compare: environment ## compare SQ, 8Q-AF and 8Q-LIFO-Pri in the same rush, Tables 4 and 5 (about 3 minutes)
	@$(doorbuster) compare $(ARGS)
compare-full: environment ## the same at three loads, with repetitions
	@$(doorbuster) compare --full $(ARGS)
simulate: environment ## the same comparison in the simulator, at the papers' size (ARGS=sbac: session-based admission)
	@$(doorbuster) simulate $(ARGS)
reproduce-lifo-pri: environment ## LIFO-Pri's tables and figures in the simulator (ARGS=--quick for a small grid)
	@$(doorbuster) reproduce lifo-pri $(ARGS)
reproduce-sbac: environment ## SBAC's figures and Table 2 in the simulator (ARGS=--quick for a small grid)
	@$(doorbuster) reproduce sbac $(ARGS)
reproduce-connection-sentry: environment ## the Connection Sentry's tables, on the running appliance (ARGS=--quick: 8 minutes)
	@$(doorbuster) reproduce connection-sentry $(ARGS)
reproduce-ad-server: environment ## the ad server's figures and tables, on a separate ad server (ARGS=--quick: 2 minutes)
	@$(doorbuster) reproduce ad-server $(ARGS)
reproduce-edragon: environment ## eDragon's figures on four simulated processors (ARGS="--engine live": hosting platforms on this machine)
	@$(doorbuster) reproduce edragon $(ARGS)
leaderboard: environment ## rank the papers' policies, today's and DOOR with the same customers (ENGINE=live; ARGS=robustness, hysteresis, bound, fairness, all)
	@$(doorbuster) leaderboard $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)
reference-results: environment ## write the results that come with Doorbuster to lab/reference (ARGS=--quick; ARGS=hysteresis for one part; hours)
	@$(bin)/doorbuster results reference $(ARGS)
capacity: environment ## measure how many requests per second the shop can serve
	@$(doorbuster) capacity $(ARGS)
calibrate: environment ## compare the mean execution time of each page with Table 2
	@$(doorbuster) exec python -m shop calibrate $(ARGS)
playground: environment ## fetch the Python for browsers that the console's playground needs (5 MB; make up fetches it, too)
	@$(bin)/python -m lab.playground.pyodide
bench-ads: environment ## selections/s of the ad server, and the gain of its threads compared with the ideal
	@$(doorbuster) bench ads $(ARGS)
bench-cancel: environment ## the time from a customer's leaving to the end of the query, in ms, and the cost of watching
	@$(doorbuster) bench cancel $(ARGS)
bench-class: environment ## thirty students during live runs, then with three attackers (35 minutes, starts a separate appliance)
	@$(doorbuster) bench class $(ARGS)
bench-console: environment ## the console's page times while the running shop is overloaded (ARGS=watched: the effect of viewers on a run, 15 minutes)
	@$(doorbuster) bench console $(ARGS)
bench-flood: environment ## sessions in progress during a flood of newcomers: DOOR, HAProxy and nginx (20 minutes)
	@$(doorbuster) bench flood $(ARGS)
bench-gateway: environment ## requests/s and p99 of the backend alone, nginx, HAProxy and this gateway
	@$(doorbuster) bench gateway $(ARGS)
bench-growth: environment ## the growth of costs with queue, load, sessions, catalogue, banners and viewers (8 minutes; ARGS=--quick: two sizes only)
	@$(doorbuster) bench growth $(ARGS)
bench-handshakes: environment ## CPU per TLS connection: full, resumed, refused, for several keys (3 minutes)
	@$(doorbuster) bench handshakes $(ARGS)
bench-policies: environment ## CPU per decision of every policy with 100, 10,000 and 100,000 requests waiting
	@$(doorbuster) bench policies $(ARGS)
bench-sessions: environment ## the cost of a page with its session in Redis's memory, in a file, or in PostgreSQL (5 minutes)
	@$(doorbuster) bench sessions $(ARGS)
bench-simulator: environment ## simulated requests/s: M/M/1 compared with SimPy and Ciw, LIFO-Pri, SBAC (a minute)
	@$(doorbuster) bench simulator $(ARGS)
bench-speeds: environment ## write the costs on which predicted times are based, as measured on this machine (after doorbuster estimates --run all)
	@$(doorbuster) bench speeds

##@ A policy of your own

.PHONY: new-policy check-policy test-own scoreboard
new-policy: environment ## create own/<name>.py and its test from a template (NAME=quiet-door)
	@$(bin)/doorbuster policy new $(if $(NAME),$(NAME),$(error NAME is missing, e.g. make new-policy NAME=quiet-door))
check-policy: environment ## check your policy, and print a line for each fault (FILE=own/quiet_door.py)
	@$(bin)/doorbuster policy check $(if $(FILE),$(FILE),$(error FILE is missing, e.g. make check-policy FILE=own/quiet_door.py))
test-own: environment ## run the tests of your policies in a confined process (ARGS=own/test_quiet_door.py: only this one)
	@$(bin)/doorbuster policy test -q $(ARGS)
scoreboard: environment ## compare your policies with SQ, 8Q-LIFO-Pri and DOOR-LIFO in the simulator (FILE=own/quiet_door.py; by default, all in own/)
	@$(bin)/doorbuster policy score $(FILE) $(ARGS)

##@ A class

.PHONY: teacher students
teacher: environment ## create an account of the console that may do everything (NAME=anna), or give it a new password; prints the password
	@$(doorbuster) class teacher $(if $(NAME),'$(NAME)',$(error NAME is missing, e.g. make teacher NAME=anna))
students: environment ## create students' accounts from the first column of a CSV file (FILE=class.csv); prints names and passwords
	@$(doorbuster) class students - < $(if $(FILE),'$(FILE)',$(error FILE is missing, e.g. make students FILE=class.csv))

##@ Lab hosts

INVENTORY ?= single-host
inventories := $(notdir $(wildcard ansible/inventories/*))
playbook = $(if $(filter $(INVENTORY),$(inventories)),,$(error INVENTORY=$(INVENTORY): no such inventory; allowed: $(inventories)))cd ansible && PATH="$(CURDIR)/$(bin):$$PATH" ansible-playbook --inventory inventories/$(INVENTORY)/hosts.yml
.PHONY: lab-tools lab-provision lab-verify lab-reset lab-collect lab-vms test-ansible test-vm
lab-tools: environment ## Ansible into the virtual environment (the others call it)
	@ansible/tools.sh
lab-provision: lab-tools ## install the lab on the hosts of an inventory (INVENTORY=three-hosts ARGS="--check --diff")
	@$(playbook) site.yml $(ARGS)
lab-verify: lab-tools ## check the hosts: services, limits, a page, a short comparison
	@$(playbook) verify.yml $(ARGS)
lab-reset: lab-tools ## between classes: empty the database and the state, but keep the results
	@$(playbook) reset.yml $(ARGS)
lab-collect: lab-tools ## copy the hosts' results to results/<inventory>/<host>/
	@$(playbook) collect.yml $(ARGS)
lab-vms: lab-tools ## write definitions of virtual machines for an inventory: cloud-init and libvirt, in ansible/vms/<inventory>
	@$(playbook) vms.yml $(ARGS)
test-ansible: lab-tools ## test the roles in Debian 12 and 13 system containers, on this machine's Docker engine (as root, for the image)
	@DOORBUSTER_TEST_ANSIBLE=1 $(bin)/python -m pytest tests/ansible --durations=10 $(ARGS)
test-vm: lab-tools ## an inventory on virtual machines of QEMU, rebooted once (root, for the image; INVENTORY=classroom HOSTS="teacher student-01")
	@$(if $(playbook),DOORBUSTER_TEST_VM="$(INVENTORY) $(HOSTS)") $(bin)/python -m pytest tests/vm --durations=0 $(ARGS)

##@ Development

.PHONY: test test-browser test-long test-docker test-chaos test-labs lab-pictures check docs pages dashboards format environment help
# The number of processes of make test, each with separate services: twice the cores of a small
# machine, because tests often wait. WORKERS=1: one process.
WORKERS ?= 4
# The timeout of a test is a signal, which a loop in C does not handle; its process then ends a minute
# later.
dies_if_stuck := -o faulthandler_timeout=660 -o faulthandler_exit_on_timeout=true
slow := $(filter-out 0,$(SLOW))
test: environment ## the quick tests (SLOW=1: also those that start whole programs and take seconds each), in four processes with services of their own (WORKERS=1: in one)
	@$(bin)/python -m pytest --ignore=tests/docker --ignore=tests/chaos --ignore=tests/vm -m "not browser and not long$(if $(slow),, and not slow)" $(dies_if_stuck) $(if $(filter-out 1,$(WORKERS)),--numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder) --durations=25 $(ARGS)$(if $(slow),, || { status=$$?; [ $$status -ne 5 ] || echo "No quick test matches. SLOW=1 also runs the slow tests." >&2; exit $$status; })
test-long: environment ## comparisons on the whole appliance that take a minute and more each
	@$(bin)/python -m pytest -m long $(ARGS)
test-browser: environment ## run the tests in headless Chromium
	@$(bin)/python -m pytest -m browser $(ARGS)
test-docker: environment ## test the whole appliance in containers, on this machine's Docker engine (as root, for the images)
	@DOORBUSTER_TEST_DOCKER=1 $(bin)/python -m pytest tests/docker --durations=10 $(ARGS)
test-chaos: environment ## kill parts one at a time and at random under load, and reconcile the orders, on a separate appliance (RUNTIME=docker: on the running containers; ARGS="-k random_kills --storm-minutes 30")
	@$(bin)/python -m pytest tests/chaos $(ARGS)
test-labs: environment ## run every command of the lab sheets, and check the expected ranges (half an hour)
	@DOORBUSTER_TEST_LABS=1 $(bin)/python -m pytest tests/labs --durations=10 $(ARGS)
lab-pictures: environment ## take the lab sheets' pictures of the running appliance in headless Chromium (ARGS=watch: only these)
	@$(doorbuster) exec python -m tests.labs.pictures $(ARGS)
django_sites := shop.settings shop.ads.settings lab.console.site.settings
# With a key of sufficient length and with accounts, as in an appliance that other machines reach. No
# database is needed.
django_admin := DOORBUSTER_SECRET_KEY=$$(printf %s {a..z}{0..3}) DOORBUSTER_LAB_ACCOUNTS=1 PYTHONWARNINGS=ignore $(bin)/django-admin
check: environment ## check format, lint, types, Django, templates, JavaScript, YAML and documentation
	@$(bin)/ruff format --check $(existing)
	@$(bin)/ruff check $(existing)
	@$(bin)/mypy
	@$(bin)/mypy --config-file shop/mypy.ini
	@for site in $(django_sites); do for what in "makemigrations --check --dry-run" "check --deploy --fail-level WARNING"; do \
	  said=$$($(django_admin) $$what --pythonpath . --settings $$site 2>&1) || { echo "$$site, $$what: $$said" >&2; exit 1; }; done; done
	@$(bin)/djlint shop lab/console --lint --quiet
	@$(bin)/oxlint --quiet lab/console
	@$(bin)/yamllint --strict .
	@docker/check.sh
	@ansible/check.sh
	@$(bin)/python -m runtime.docs_site --if-stale
docs: environment ## build the documentation site in build/docs; every warning is an error
	@$(bin)/python -m runtime.docs_site
pages: environment ## write the pages of docs/ that are made from the code, and .env.example
	@$(bin)/python -m tests.generated_pages
dashboards: environment ## generate Grafana's dashboards
	@$(bin)/python -m dashboards.grafana
format: environment ## format the code
	@$(bin)/ruff format $(existing)
	@$(bin)/ruff check --fix $(existing)
environment: ## create the virtual environment from uv.lock (the other targets call it)
	@$(bootstrap)
help: ## print this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } \
	  /^[a-z -]+:.*## / { printf "  \033[36m%-28s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
