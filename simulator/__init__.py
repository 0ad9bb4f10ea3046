"""The gateway's own policies and the customers' own session model, in virtual time.

Owns: events in virtual time, models of servers, driving a policy with them.
Must not know: sockets, clocks, files, specs, results. May import `gateway.policies`,
`loadgen.sessions`, `loadgen.clients`, `loadgen.draws` and `loadgen.attempts`, nothing else of the
project; a test walks the imports.
All times are paper seconds since the simulation's start.
"""
