import re
from pathlib import Path

import pytest

from lab.errors import ExperimentError, SpecError
from lab.spec.experiment import SPECS, Spec, changed, checked, load_spec, read_spec, spec_of
from lab.spec.sections import (
    Arrivals,
    Class,
    Clients,
    FifoServerSection,
    Lengths,
    PolicyChoice,
    Section,
    SharedCpusServer,
    Stretch,
)


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_spec_loads_and_survives_a_round_trip(path):
    spec = load_spec(path.stem)
    assert read_spec(spec.to_toml(), "again") == spec


def test_a_spec_that_gives_its_version_alone_is_the_default_comparison():
    spec = read_spec("version = 1", "short")
    assert spec == Spec()
    assert [policy.name for policy in spec.policy] == ["sq", "8q-af", "8q-lifo-pri"]
    assert (spec.customers.timeout_s, spec.customers.think_timeout_mean_s) == (8.0, 12.0)


@pytest.mark.parametrize(
    ("text", "field", "hint"),
    [
        ("foo = 1", "foo", "allowed: version"),
        ("[load]\nrhoo = [1]", "load.rhoo", "allowed: rho, sessions"),
        ("[load]\nrho = []", "load.rho", "at least 1"),
        ("[load]\nrho = [-1]", "load.rho.0", "greater than or equal to 0.01"),
        ("[load]\nsessions = 'x'", "load.sessions", "integer"),
        ("version = 2", "version", "1"),
        ("", "version", "allowed: version = 1"),
        ("version = 1\n[load]\nrho = [1.4, 1.4]", "load.rho", "repetitions"),
        ("version = 1\n[load]\nrho = [nan]", "load.rho.0", "finite"),
        ("engine = 'quantum'", "engine", "live"),
        ("[[policy]]\nname = 'sq'\nabandonment = 'x'", "policy.0.abandonment", "'drop-queued'"),
        ("catalogue_books = 999", "catalogue_books", "a whole number from 1000 to 500000"),
        ("time_scale = 0.5", "time_scale", "greater than or equal to 1"),
        ("[[policy]]\nname = 'x'", "policy.0", "8q-lifo-pri"),
        ("[[policy]]\nname = 'sq'\nparameters = {cap = 1}", "parameters.cap", "allowed: capacity"),
        ("[[policy]]\nname = 'sq'\n[[policy]]\nname = 'sq'", "policy", "named twice"),
        ("[customers]\nretry_probability = 2", "customers.retry_probability", "less than"),
        ("= 1", "", "not TOML"),
        ("shadows = ['lifo']", "shadows", "8q-lifo-pri"),
        ("shadows = ['sq', 'sq']", "shadows", "each policy once"),
        # what contradicts itself
        (f"[[policy]]\nname = 'sq'\nsha256 = '{'0' * 64}'", "policy.0.sha256", "name is a path"),
        ("leaderboard = true\n[customers.lengths]\nmean = 5", "leaderboard", "ranked by sales"),
        ("leaderboard = true\n[[load.schedule]]\nduration_s = 9\nrho = 2", "leaderboard",
         "a column for each rho"),
        ("engine = 'simulated'\nshadows = ['sq']", "shadows", "engine = 'live'"),
        ("shadows = ['sq']\n[[policy]]\ngateway = 'nginx'", "shadows", "or the baseline proxies"),
        ("engine = 'simulated'\n[server]\nsession_known_from = 'admission'\n"
         "[[policy]]\nname = 'sq'\n[[policy]]\nname = 'door-fifo'", "server.session_known_from",
         "by the gateway's cookie, which comes with an answer; allowed: 'answer'"),
        ("engine = 'simulated'\n[server]\nkind = 'fifo'\n[[policy]]\nname = 'waiting-room'",
         "server.session_known_from", "allowed: 'answer'"),
        ("[server]\nkind = 'fifo'", "server", "engine = 'simulated'"),
        ("engine = 'simulated'\ncatalogue_books = 5000", "catalogue_books", "engine = 'live'"),
        ("engine = 'simulated'\ndatabase_cpus = 'shop'", "database_cpus", "= 'simulated': 'other'"),
        ("engine = 'simulated'\npage_profile = 'real'", "page_profile", "'paper' or 'cpu'"),
        ("engine = 'simulated'\npage_profile = 'paper'\n[server]\nkind = 'fifo'", "page_profile",
         "leave it out"),
        ("[load]\nrho = 1.4", "load.rho", "must be a list in brackets (given: 1.4)"),
        ("[load]\nrho = [1]\nduration_s = 9\narrivals = {formula = '2 - t'}",
         "load.arrivals.formula", "is -0.5 at t = 2.5"),
        ("[load]\nsessions = 5\nduration_s = 5", "load.duration_s", "one of sessions"),
        ("[load]\nrho = [1, 2]\nschedule = [{duration_s = 1, rho = 1}]", "load.rho",
         "leave rho out"),
        ("[load]\nsessions = 5\nschedule = [{duration_s = 1, rho = 1}]", "load.schedule", "one of"),
        ("[load]\nschedule = [{duration_s = 1, rho = 0}]", "load.schedule",
         "no session ever arrives"),
        ("[load]\nschedule = [{duration_s = 1, rho = 1, x = 1}]", "load.schedule.0.x",
         "duration_s"),
        ("[[policy]]\nname = 'sq'\nadmission = 'x'", "policy.0.admission", "sbac-responsive"),
        ("admission = 'x'", "admission", "allowed: none, sbac-responsive"),
        ("[[policy]]\nname = 'sq'\nadmission_parameters = {k = 1}", "policy.0.admission_parameters",
         "admission is 'sbac-responsive'"),
        ("[[policy]]\nname = 'sq'\nadmission = 'sbac'\nadmission_parameters = {k = 1}",
         "policy.0.admission_parameters.k", "ac_threshold"),
        ("[[policy]]\nname = 'sq'\nlabel = 'a'\n[[policy]]\nname = '8q-af'\nlabel = 'a'", "policy",
         "label"),
        ("[[policy]]\nname = 'sq'\nlabel = '../a'", "policy.0.label", "letters, digits"),
        ("[customers]\nlengths = {mixture = [{name = 'a:b', share = 1, mean = 2}]}",
         "customers.lengths.mixture.0.name", "pattern"),
        ("warm_up_s = 50\n[load]\nduration_s = 50", "warm_up_s", "less than 50"),
        ("[customers]\nlengths = {}", "customers.lengths.mean", "a mixture"),
        ("[customers]\nlengths = {mean = 0.5}", "customers.lengths.mean", "1 to 4096"),
        ("[customers]\nlengths = {mixture = [{name = 'a', share = 0.5, mean = 2}]}",
         "customers.lengths.mixture", "make them 1"),
        ("engine = 'simulated'\n[server]\nkind = 'x'", "server.kind", "'shared-cpus' or 'fifo'"),
        ("engine = 'simulated'\n[server]\nkind = 'fifo'\ncpus = 1", "server.cpus",
         "rejection_cost"),
        # a closed loop
        ("[clients]", "load.duration_s", "is missing"),
        ("[clients]\n[load]\nrho = [2]\nduration_s = 5", "load.rho",
         "allowed in [load]: duration_s"),
        ("[clients]\n[load]\nsessions = 5", "load.sessions", "allowed in [load]: duration_s"),
        ("[clients]\n[load]\nschedule = [{duration_s = 1, rho = 1}]", "load.schedule",
         "allowed in [load]: duration_s"),
        ("[clients]\n[customers]\n[load]\nduration_s = 5", "customers",
         "either customers or clients"),
        ("[clients]\nx = 1\n[load]\nduration_s = 5", "clients.x", "per_set, patience_max_s"),
        ("[clients]\nper_set = 0\n[load]\nduration_s = 5", "clients.per_set", "1 to 1000"),
        ("[clients]\nmix = {hom = 1}\n[load]\nduration_s = 5", "clients.mix",
         "home, browse, search, select, file"),
        ("[clients]\n[load]\nduration_s = 1e6", "load.duration_s", "give at most 70000 s"),
        ("at_once = true\nengine = 'simulated'", "at_once", "with engine = 'live'"),
        ("at_once = 'much'", "at_once", "'crowded'"),
        ("at_once = true\ndatabase_cpus = 'shop'", "database_cpus", "'other'"),
        ("at_once = true\n[[policy]]\nname = 'sq'", "at_once", "2 to 4"),
        ("warm_up_s = 5\n[clients]\n[load]\nduration_s = 5", "warm_up_s", "less than 5"),
        ("engine = 'simulated'\n[clients]\n[load]\nduration_s = 5\n[server]\nkind = 'fifo'",
         "server.kind", "'shared-cpus'"),
    ],
)  # fmt: skip
def test_faults_are_one_line_with_field_and_mend(text, field, hint):
    if text and "version" not in text:
        text = f"version = 1\n{text}"
    with pytest.raises(ExperimentError) as refusal:
        checked(read_spec(text, "my.toml"), "my.toml")
    message = str(refusal.value)
    assert message.startswith("my.toml: ")
    assert "\n" not in message
    assert field in message
    assert hint in message


def test_every_fault_is_named_at_once():
    with pytest.raises(ExperimentError) as refusal:
        read_spec("version = 1\nfoo = 1\nseed = -1", "my.toml")
    assert len(str(refusal.value).splitlines()) == 2


def test_a_missing_file_lists_what_comes_along():
    with pytest.raises(ExperimentError, match="lifo-pri-full"):
        load_spec("nowhere.toml")


def test_options_override_a_spec_and_are_checked():
    spec = changed(Spec(), load__rho=[2.0], sessions=None, seed=7)
    assert (spec.load.rho, spec.seed, spec.load.sessions) == ((2.0,), 7, 1000)
    with pytest.raises(ExperimentError, match=r"load\.sessions"):
        changed(Spec(), load__sessions=0)


def test_admission_is_the_specs_unless_a_policy_has_its_own():
    spec = read_spec(
        """
        version = 1
        admission = "sbac-stable"
        [[policy]]
        name = "sq"
        [[policy]]
        name = "sq"
        admission = "none"
        [[policy]]
        name = "sq"
        admission_parameters = {ac_interval_s = 10}
        label = "sq patient"
        """,
        "my.toml",
    )
    assert [policy.key for policy in spec.policy] == ["sq+sbac-stable", "sq", "sq patient"]
    assert spec.choice("sq patient").admission == "sbac-stable"
    assert spec.choice("sq").is_pure_queueing
    assert read_spec(spec.to_toml(), "again") == spec
    everybody = read_spec("version = 1\nadmission = 'sbac-stable'", "my.toml")
    assert everybody.policy[0].key == "sq+sbac-stable"


def test_abandonment_is_the_specs_unless_a_policy_has_its_own():
    entries = [
        {"name": "sq"},
        {"name": "sq", "abandonment": "cancel"},
        {"name": "sq", "admission": "sbac", "abandonment": "drop-queued"},
        {"name": "8q-af", "abandonment": "ignore"},
        {"name": "sq", "abandonment": "cancel", "label": "mine"},
    ]
    spec = Spec(policy=entries)
    keys = ["sq", "sq+cancel", "sq+sbac+drop-queued", "8q-af", "mine"]
    assert [policy.key for policy in spec.policy] == keys
    found = [spec.abandonment_of(policy) for policy in spec.policy]
    assert found == ["ignore", "cancel", "drop-queued", "ignore", "cancel"]
    assert read_spec(spec.to_toml(), "again") == spec
    cancelling = Spec(policy=[{"name": "sq"}, {"name": "sq", "abandonment": "ignore"}],
                      abandonment="cancel")  # fmt: skip
    assert [policy.key for policy in cancelling.policy] == ["sq", "sq+ignore"]
    with pytest.raises(ExperimentError, match="named twice"):
        changed(spec, abandonment="cancel")


@pytest.mark.parametrize("key", Spec.model_fields)
def test_no_kind_of_value_breaks_the_reading(key):
    """Each key accepts a value or names a fault, and refuses at least one of these values."""
    refused = 0
    for value in ([], {}, [[]], [{}], 3, "x"):
        try:
            spec_of({"version": 1, key: value}, "my.toml")
        except SpecError as error:
            refused += bool(error.faults)
    assert refused


@pytest.mark.parametrize("engine", ["live", "simulated"])
def test_clients_are_there_for_a_time(engine):
    spec = read_spec(
        f"version = 1\nengine = '{engine}'\n[clients]\nmix = {{search = 1}}\n"
        "[load]\nduration_s = 1800",
        "my.toml",
    )
    assert (spec.load.rho, spec.load.rhos, spec.load.arrivals_s) == (None, (None,), 1800)
    assert spec.load.offered(None) is None
    assert "closed loop" in spec.load.words()
    assert spec.clients.per_set == 9
    assert spec.clients.mix == {"search": 1}
    assert "customers" not in spec.plain()
    assert read_spec(spec.to_toml(), "again") == spec
    assert changed(spec, load__duration_s=60, repetitions=2).load.duration_s == 60
    with pytest.raises(ExperimentError, match=r"load\.rho: clients are a closed loop"):
        changed(spec, load__rho=[2.0])


def test_sessions_arrive_by_number_for_a_time_or_by_schedule():
    assert Spec().load.expected_sessions(2.0) == 1000
    for_a_time = changed(Spec(), load__duration_s=50).load
    assert (for_a_time.sessions, for_a_time.expected_sessions(2.0)) == (None, 100)
    assert changed(Spec(load=for_a_time), load__sessions=7).load.duration_s is None
    stretches = [{"duration_s": 10, "rho": 1}, {"duration_s": 30, "rho": 2}]
    scheduled = Spec(load={"schedule": stretches}).load
    assert scheduled.rho == (1.0,)
    assert scheduled.arrivals_s == 40
    assert scheduled.offered(1.0) == 1.75
    assert scheduled.expected_sessions(2.0) == 140


def test_the_fingerprint_follows_what_is_asked_for():
    assert Spec().fingerprint == Spec().fingerprint
    assert Spec().fingerprint != changed(Spec(), seed=2).fingerprint


def flat(section, prefix=""):
    """Key → default as the documentation prints it, of a section and the sections within."""
    found = {}
    for name, field in section.model_fields.items():
        value = None if field.is_required() else field.default
        if isinstance(value, Section):
            found |= flat(type(value), f"{prefix}{name}.")
        else:
            found[prefix + name] = shown(value, required=field.is_required())
    return found


def shown(value, *, required):
    if required or value is None:
        return "must be given" if required else "–"
    if isinstance(value, bool):
        return str(value).lower()  # as TOML writes it
    if isinstance(value, dict):
        return ", ".join(f"{key} {one:g}" for key, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(getattr(item, "name", None) or f"{item:g}" for item in value) or "–"
    return f"{value:g}" if isinstance(value, float) else str(value) or "–"


def test_the_documented_keys_and_defaults_are_the_codes():
    text = (Path(__file__).parents[3] / "docs/spec-keys.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9_.]+)` \| (.+?) \| .+ \|$", text, flags=re.MULTILINE)
    expected = flat(Spec) | {"version": "must be given", "load.sessions": "1000"}
    expected |= flat(PolicyChoice, "policy.") | {"policy.admission": "–", "policy.parameters": "–"}
    expected |= {"policy.admission_parameters": "–"} | flat(Clients, "clients.")
    expected |= flat(Stretch, "load.schedule.") | flat(Lengths, "customers.lengths.")
    expected |= flat(Class, "customers.lengths.mixture.") | flat(Arrivals, "load.arrivals.")
    fifo, shared = flat(FifoServerSection, "server."), flat(SharedCpusServer, "server.")
    both = {"session_known_from": "answer; fifo: admission", "kind": "shared-cpus"}
    expected |= fifo | shared | {f"server.{key}": default for key, default in both.items()}
    assert dict(rows) == expected
    assert len(rows) == len(expected)
