-- The results database, which Grafana, psql and notebooks read. All rows are copies of result folders.
-- A newer form of these tables replaces the older one; `doorbuster results publish` then writes the rows again.
-- The end of a name is its unit: _s means paper seconds, _rps means requests per paper second, and a _ratio of 1 means 100 %.

DROP SCHEMA IF EXISTS results CASCADE;
CREATE SCHEMA results;

CREATE TABLE results.console (
    url text PRIMARY KEY
);
COMMENT ON TABLE results.console IS 'One row with the address of the lab console, for links from dashboards';

CREATE TABLE results.experiments (
    experiment         text PRIMARY KEY,
    title              text NOT NULL,
    imported           boolean NOT NULL,
    engine             text NOT NULL CHECK (engine IN ('live', 'simulated')),
    began_at           timestamptz NOT NULL,
    ended_at           timestamptz,
    planned_runs       integer NOT NULL,
    whole_runs         integer NOT NULL,
    repetitions        integer NOT NULL,
    time_scale_ratio   double precision NOT NULL,
    page_profile       text,
    capacity_rps       double precision,
    doorbuster_version text NOT NULL,
    machine            text NOT NULL,
    spec               jsonb NOT NULL
);
COMMENT ON TABLE results.experiments IS 'One row for each result folder';
COMMENT ON COLUMN results.experiments.experiment IS 'Name of the folder, also in the console''s addresses';
COMMENT ON COLUMN results.experiments.imported IS 'True if the result was made on another machine and imported as a bundle; its title then ends with (imported)';
COMMENT ON COLUMN results.experiments.ended_at IS 'The time at which the last run ended; null while runs are missing';
COMMENT ON COLUMN results.experiments.time_scale_ratio IS 'Paper seconds per real second of a live run';
COMMENT ON COLUMN results.experiments.capacity_rps IS 'The capacity, which is the number of requests per paper second at ρ = 1; null in a closed loop';

CREATE TABLE results.runs (
    experiment               text NOT NULL REFERENCES results.experiments ON DELETE CASCADE,
    number                   integer NOT NULL,
    run                      text NOT NULL,
    policy                   text NOT NULL,
    title                    text NOT NULL,
    queueing                 text NOT NULL,
    admission                text NOT NULL,
    abandonment              text NOT NULL,
    rho                      double precision,
    seed                     bigint NOT NULL,
    state                    text NOT NULL CHECK (state IN ('planned', 'begun', 'whole')),
    started_at               timestamptz,
    ended_at                 timestamptz,
    -- metrics of lab/analysis/metrics.py --
    response_p50_s           double precision,
    response_p90_s           double precision,
    response_p99_s           double precision,
    server_cpu_s             double precision,
    wasted_cpu_s             double precision,
    wasted_cpu_ratio         double precision,
    late_ratio               double precision,
    reconciles               boolean,
    switched                 boolean,
    PRIMARY KEY (experiment, number)
);
COMMENT ON TABLE results.runs IS 'One row for each run, with one policy, one load and one seed; only runs with the state whole have metrics, which do not include the warm-up';
COMMENT ON COLUMN results.runs.run IS 'Name of the folder of the run in runs/';
COMMENT ON COLUMN results.runs.policy IS 'The name of the policy in the experiment: queueing+admission+abandonment, or a label';
COMMENT ON COLUMN results.runs.rho IS 'Offered load; null in a closed loop';
COMMENT ON COLUMN results.runs.state IS 'planned: the run has not begun; begun: the run is in progress or was interrupted; whole: the run is complete';
COMMENT ON COLUMN results.runs.response_p50_s IS 'The median response time of the completed attempts';
COMMENT ON COLUMN results.runs.wasted_cpu_ratio IS 'CPU time that the server spent on requests after their customers had left, divided by all CPU time of the server';
COMMENT ON COLUMN results.runs.late_ratio IS 'Share of attempts that the load generator sent late; null if simulated';
COMMENT ON COLUMN results.runs.switched IS 'True if the policy or the load was changed, or a fault was caused, during the run; the metrics then do not show one policy at one load';
CREATE INDEX ON results.runs (started_at);

CREATE TABLE results.events (
    experiment text NOT NULL,
    number     integer NOT NULL,
    place      integer NOT NULL,
    at         timestamptz NOT NULL,
    time_s     double precision,
    kind       text NOT NULL,
    words      text NOT NULL,
    facts      jsonb NOT NULL,
    PRIMARY KEY (experiment, number, place),
    FOREIGN KEY (experiment, number) REFERENCES results.runs ON DELETE CASCADE
);
COMMENT ON TABLE results.events IS 'The events of the runs, from their files events.jsonl';
COMMENT ON COLUMN results.events.time_s IS 'Paper seconds from the start of the run; null for events without this time';
CREATE INDEX ON results.events (at);
