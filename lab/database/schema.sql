-- The results in PostgreSQL: what Grafana, psql or a notebook asks. One statement of the truth stays the result folder;
-- everything here is made from it, so a newer form of these tables replaces the older one (`doorbuster results publish` fills it).
-- Units are in the names: _s are paper seconds, _rps per paper second, _ratio is 1 at 100 %.

DROP SCHEMA IF EXISTS results CASCADE;
CREATE SCHEMA results;

CREATE TABLE results.console (
    url text PRIMARY KEY
);
COMMENT ON TABLE results.console IS 'One row: where the lab console is, for links from dashboards';

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
COMMENT ON TABLE results.experiments IS 'A result folder each';
COMMENT ON COLUMN results.experiments.experiment IS 'Name of the folder, also in the console''s addresses';
COMMENT ON COLUMN results.experiments.imported IS 'Made on another machine and brought to this console as a bundle; its title says so too';
COMMENT ON COLUMN results.experiments.ended_at IS 'When its last run ended; null while runs are missing';
COMMENT ON COLUMN results.experiments.time_scale_ratio IS 'Paper seconds in a second of a live run';
COMMENT ON COLUMN results.experiments.capacity_rps IS 'What ρ = 1 was; null in a closed loop';

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
COMMENT ON TABLE results.runs IS 'One policy at one load with one seed; figures from run.state = whole on, warm-up left out';
COMMENT ON COLUMN results.runs.run IS 'Name of its folder under runs/';
COMMENT ON COLUMN results.runs.policy IS 'What the experiment calls the choice: queueing+admission+abandonment, or a label';
COMMENT ON COLUMN results.runs.rho IS 'Offered load; null in a closed loop';
COMMENT ON COLUMN results.runs.state IS 'begun: under way, or it never ended';
COMMENT ON COLUMN results.runs.response_p50_s IS 'Of completed attempts only';
COMMENT ON COLUMN results.runs.wasted_cpu_ratio IS 'CPU spent after the customer had left, over all CPU of the server';
COMMENT ON COLUMN results.runs.late_ratio IS 'Share of attempts that the load generator made late; null if simulated';
COMMENT ON COLUMN results.runs.switched IS 'Somebody changed policy or load meanwhile: the figures are those of no single one';
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
COMMENT ON TABLE results.events IS 'What happened in a run, as its events.jsonl has it';
COMMENT ON COLUMN results.events.time_s IS 'Since the run began; null where the log does not say';
CREATE INDEX ON results.events (at);
