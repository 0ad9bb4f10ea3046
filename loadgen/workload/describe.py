"""Tables with the numbers of the session models."""

from collections.abc import Iterator

from common.page_types import CAPACITY_RPS
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import MEAN_EXECUTION_S, PAGES, SessionModel


def describe(model: SessionModel | None = None) -> Iterator[str]:
    """Yield the lines of a session model's table, by default LIFO-Pri's. All times are paper
    seconds.
    """
    model = model or SessionModel()
    chain = model.chain
    visits = chain.visits()
    yield f"{'page':<5} {'per 1000':>9} {'P(Tr-4)':>8} {'mean s':>7}  leads to"
    for page in PAGES:
        leads = [f"{following} {share:g}" for following, share in chain.row(page).items()]
        exits = 1 - sum(chain.row(page).values())
        yield (
            f"{page:<5} {visits[page] * 1000:>9.2f} {chain.probability_of_confirm(page):>8.4f} "
            f"{MEAN_EXECUTION_S[page]:>7.3f}  {', '.join([*leads, f'exit {exits:.3g}'])}"
        )
    yield ""
    yield f"requests per session      {chain.mean_requests():.3f}"
    yield f"mean execution time       {chain.mean_execution_s() * 1000:.1f} ms"
    for rho in (0.85, 1.4, 2.0):
        rate = model.session_rate(rho, CAPACITY_RPS)
        yield f"sessions/s at rho = {rho:<4}  {rate:.3f}, capacity {CAPACITY_RPS} requests/s"
    yield f"patience                  {model.timeout_s:g} s + Exp({model.think_timeout_mean_s:g} s)"
    yield f"retry                     p = {model.retry_probability:g}, at most {model.max_retries}"


def describe_partly_open(model: PartlyOpenModel | None = None) -> Iterator[str]:
    """Yield the lines of a partly-open model's table, by default eDragon's. All times are paper
    seconds.
    """
    model = model or PartlyOpenModel()
    visits = model.visits()
    yield f"{'page':<5} {'per session':>11}  leads to"
    for page, row in model.transitions().items():
        leads = ", ".join(f"{following} {share}" for following, share in row.items() if share)
        yield f"{page:<5} {visits[page]:>11.2f}  {leads}"
    yield ""
    yield (
        f"interactions per session  {model.interactions_mean:g}, at most "
        f"{model.interactions_most}: p(end) = {model.end_probability():.4f}"
    )
    yield f"replies per session {model.replies_mean():g}, images included"
    yield f"think time                Exp({model.think_time_mean_s:g} s)"
    yield f"timeout                   {model.timeout_s:g} s, then at most {model.reconnects} again"
