"""A report that failed, the very first one too, is added by the next try."""

from tests.shop.ads.conftest import under_its_settings

# A report needs the state's row. Another session holds it, as one does that accepts a contract, and
# the reporting one does not wait for locks: the database itself refuses the report.
_FAIL_ONCE = """
import django
django.setup()
from django.db import OperationalError, connection, transaction
from shop.ads.delivery import loading
from shop.ads.delivery.flushing import Writer
from shop.ads.delivery.ledger import Ledger
from shop.ads.models import Delivery, Server

with transaction.atomic():
    loaded = loading.everything()
ledger = Ledger(loaded.inventory, loaded.delivered, 100)
writer = Writer(ledger, loaded.names, loaded.revision)
row = next(row for row in range(len(loaded.inventory)) if ledger.take(row))
banner = int(loaded.inventory.id[row])
before = Delivery.objects.get(pk=banner).delivered
servers = set(Server.objects.values_list("pk", flat=True))

with connection.cursor() as cursor:
    cursor.execute("SET lock_timeout = '10ms'")
holding = connection.copy()
with holding.cursor() as other:
    other.execute("BEGIN")
    other.execute("SELECT FROM ads_state FOR UPDATE")
    try:
        writer.exchange()
    except OperationalError as error:
        print("refused:", "lock timeout" in str(error))
    other.execute("ROLLBACK")
holding.close()
with connection.cursor() as cursor:
    cursor.execute("SET lock_timeout = 0")

for _ in range(2):
    writer.exchange()
[server] = Server.objects.exclude(pk__in=servers)
print("report:", server.sequence)
print("added:", Delivery.objects.get(pk=banner).delivered - before)
print("unreported:", ledger.unreported())
"""


def test_a_first_report_that_was_rolled_back_is_sent_again(ads_environment):
    printed = under_its_settings(ads_environment, _FAIL_ONCE)
    assert printed.splitlines() == ["refused: True", "report: 1", "added: 1", "unreported: 0"]
