from lab.experiments.customers import client_options, load_options, model_options
from lab.experiments.spec_sections import Clients, Customers, Load
from loadgen.options import run_options
from loadgen.sessions import Schedule, Segment


def understood(load, customers, rho=1.4):
    """What the load generator makes of the options it would be given."""
    who = {**model_options(customers), "capacity-rps": 5.6}
    return taken({**load_options(load, rho), **who})


def taken(options):
    """As the load generator reads them."""
    return run_options(
        {name.replace("-", "_"): str(value) for name, value in options.items() if value is not None}
    )


def test_the_default_customers_are_those_of_the_load_generator():
    options = understood(Load(), Customers())
    assert options.model == Customers().as_model()
    assert (options.sessions, options.rho) == (1000, 1.4)


def test_lengths_and_fixed_patience_arrive_as_they_are():
    for lengths in (
        {"kind": "exponential", "mean": 15.5},
        {"mixture": [{"name": "buys", "share": 0.25, "mean": 70},
                     {"name": "looks", "share": 0.75, "mean": 3}]},
    ):  # fmt: skip
        customers = Customers(lengths=lengths, think_timeout_mean_s=0, think_time_mean_s=5)
        assert understood(Load(), customers).model == customers.as_model()


def test_a_schedule_and_a_duration_replace_the_number_of_sessions():
    load = Load(schedule=[{"duration_s": 50, "rho": 1}, {"duration_s": 25.5, "rho": 2.25}])
    options = understood(load, Customers(), rho=1.0)
    assert options.load_schedule == Schedule((Segment(50, 1), Segment(25.5, 2.25)))
    assert understood(Load(duration_s=33.5), Customers()).arrivals_until_s == 33.5


def test_clients_arrive_as_they_are():
    clients = Clients(
        per_set=4,
        patience_max_s=12.5,
        think_time_mean_s=2.25,
        reload_probability=0.5,
        away_mean_s=9,
        mix={"search": 0.125, "file": 3},
    )
    load = Load(rho=None, duration_s=600)
    options = taken({**client_options(clients), **load_options(load, None)})
    assert options.clients == clients.as_model()
    assert options.arrivals_until_s == 600
    everything = taken({**client_options(Clients()), **load_options(load, None)})
    assert everything.clients == Clients().as_model()
