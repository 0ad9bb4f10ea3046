"""An admission policy for tests: a fixed number of new sessions may come in."""

from gateway.policies.interface import Reject


class Doorkeeper:
    """An admission policy that admits the first `places` new sessions and their later requests."""

    name = "doorkeeper"

    def __init__(self, places=1, retry_after_s=300.0):
        self.places = places
        self.retry_after_s = retry_after_s
        self.seen = []
        self.dropped_ids = []

    def arrival(self, time_s, request):
        self.seen.append((request.session, request.session_is_new))
        if not request.session_is_new:
            return None
        if self.places:
            self.places -= 1
            return None
        return Reject(request.id, "no <new> sessions", self.retry_after_s)

    def dropped(self, time_s, id):
        self.dropped_ids.append(id)

    def completion(self, time_s, id, outcome):
        pass

    def abandonment(self, time_s, id):
        pass

    def withdrawn(self, time_s, id):
        pass

    def load_sample(self, time_s, sample):
        pass

    def snapshot(self):
        return {"admits": self.places > 0}
