"""The study of Connection Sentry."""

from lab.analysis.published import PAPERS
from lab.studies import WHO_HAS_LEFT, About

ABOUT = About(
    PAPERS["connection-sentry"],
    WHO_HAS_LEFT,
    "Reproduce Tables 1 to 4 (quick grid)",
    "Clients who never leave are served sooner if the shop cancels work for clients who have left.",
    "connection-sentry-search",
    engine="live",
)
