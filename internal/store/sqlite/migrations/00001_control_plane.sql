-- Times are whole microseconds since 1970 in UTC, 0 where there is none.
-- "task" is hot and small; what a claim never rewrites is in "task_spec".

-- +goose Up
CREATE TABLE enrol_token (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  hash       BLOB NOT NULL,
  host_name  TEXT NOT NULL,
  labels     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0,
  used_by    TEXT NOT NULL DEFAULT '',
  used_key   TEXT NOT NULL DEFAULT '',
  revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX enrol_token_newest ON enrol_token (tenant, created_at);
CREATE INDEX enrol_token_ended ON enrol_token (expires_at);

CREATE TABLE host (
  id              TEXT PRIMARY KEY,
  tenant          TEXT NOT NULL,
  name            TEXT NOT NULL,
  labels          TEXT NOT NULL,
  devices         TEXT NOT NULL,
  version         TEXT NOT NULL,
  slots_free      INTEGER NOT NULL,
  draining        INTEGER NOT NULL,
  drain           INTEGER NOT NULL,
  enrolled_at     INTEGER NOT NULL,
  last_seen       INTEGER NOT NULL,
  revoked_at      INTEGER NOT NULL,
  planner_allowed INTEGER NOT NULL,
  decide_limit    INTEGER NOT NULL
) STRICT;
CREATE INDEX host_by_name ON host (tenant, name, id);

CREATE TABLE host_credential (
  id           TEXT PRIMARY KEY,
  host         TEXT NOT NULL REFERENCES host (id),
  hash         BLOB NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  first_used   INTEGER NOT NULL,
  retires_at   INTEGER NOT NULL,
  successor    TEXT NOT NULL,
  rotation_key TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX host_credential_of_host ON host_credential (host);
CREATE INDEX host_credential_successor ON host_credential (successor) WHERE successor <> '';

CREATE TABLE task (
  n              INTEGER PRIMARY KEY, -- the order of submission
  id             TEXT NOT NULL UNIQUE,
  tenant         TEXT NOT NULL,
  state          TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled', 'dead')),
  reason         TEXT NOT NULL DEFAULT '',
  selector       TEXT NOT NULL, -- JSON with sorted names: equal selectors are equal texts
  priority       INTEGER NOT NULL,
  repeatable     INTEGER NOT NULL,
  max_attempts   INTEGER NOT NULL,
  ready          INTEGER NOT NULL DEFAULT 0, -- next_run has passed; noted by the claim that found it so
  rank           INTEGER NOT NULL, -- the order of claims: next_run less five minutes a level of priority
  next_run       INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  attempt        INTEGER NOT NULL DEFAULT 0,
  tries          INTEGER NOT NULL DEFAULT 0,
  misses         INTEGER NOT NULL DEFAULT 0,
  host           TEXT NOT NULL DEFAULT '',
  device         TEXT NOT NULL DEFAULT '',
  lease_expires  INTEGER NOT NULL DEFAULT 0, -- the lease clock
  lease_span     INTEGER NOT NULL DEFAULT 0, -- what the lease was granted for
  cancel_by      INTEGER NOT NULL DEFAULT 0, -- the lease clock; when a cancelling task ends without its host
  acted          INTEGER NOT NULL DEFAULT 0,
  result_attempt INTEGER NOT NULL DEFAULT 0, -- the attempt whose result ended the task
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  terminal_at    INTEGER NOT NULL DEFAULT 0,
  pruned_at      INTEGER NOT NULL DEFAULT 0,
  CHECK ((state IN ('succeeded', 'failed', 'cancelled', 'dead')) = (terminal_at > 0)),
  CHECK ((state IN ('leased', 'running', 'cancelling')) = (lease_expires > 0)),
  CHECK (state <> 'cancelling' OR cancel_by > 0)
) STRICT;
CREATE INDEX task_newest ON task (tenant, id);
CREATE INDEX task_by_state ON task (tenant, state, id);
CREATE INDEX task_ready ON task (tenant, selector, rank, n) WHERE state = 'queued' AND ready = 1;
CREATE INDEX task_waiting ON task (next_run) WHERE state = 'queued' AND ready = 0;
CREATE INDEX task_expiring ON task (expires_at) WHERE state = 'queued' AND expires_at > 0;
CREATE INDEX task_leased ON task (lease_expires) WHERE lease_expires > 0;
CREATE INDEX task_cancelling ON task (cancel_by) WHERE state = 'cancelling';
CREATE INDEX task_held_by ON task (host) WHERE lease_expires > 0;
CREATE INDEX task_retained ON task (terminal_at) WHERE terminal_at > 0 AND pruned_at = 0;

-- +goose StatementBegin
CREATE TRIGGER task_terminal_is_absorbing BEFORE UPDATE OF state ON task
WHEN OLD.terminal_at > 0 AND NEW.state <> OLD.state
BEGIN
  SELECT RAISE(ABORT, 'a terminal task never changes its state');
END;
-- +goose StatementEnd

CREATE TABLE task_spec (
  task         INTEGER PRIMARY KEY REFERENCES task (n),
  goal         TEXT NOT NULL,
  labels       TEXT NOT NULL,
  app_lock     TEXT NOT NULL,
  policy       TEXT NOT NULL,
  budget_steps INTEGER NOT NULL,
  budget_time  INTEGER NOT NULL, -- microseconds
  budget_tokens INTEGER NOT NULL,
  not_before   INTEGER NOT NULL,
  retry_of     TEXT NOT NULL
) STRICT;

CREATE TABLE task_key (
  tenant TEXT NOT NULL,
  key    TEXT NOT NULL,
  body   BLOB NOT NULL,
  task   INTEGER NOT NULL REFERENCES task (n),
  at     INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_key_oldest ON task_key (at);

CREATE TABLE attempt (
  task        INTEGER NOT NULL REFERENCES task (n),
  number      INTEGER NOT NULL,
  host        TEXT NOT NULL,
  device      TEXT NOT NULL,
  claimed_at  INTEGER NOT NULL,
  acked_at    INTEGER NOT NULL DEFAULT 0,
  acting_at   INTEGER NOT NULL DEFAULT 0,
  ended_at    INTEGER NOT NULL DEFAULT 0,
  ending      TEXT NOT NULL DEFAULT '',
  reason      TEXT NOT NULL DEFAULT '',
  steps       INTEGER NOT NULL DEFAULT 0, -- the next step index
  next_event  INTEGER NOT NULL DEFAULT 0,
  tokens      INTEGER NOT NULL DEFAULT 0, -- input and output reported, failures too
  log_bytes   INTEGER NOT NULL DEFAULT 0, -- of its decisions
  system_blob INTEGER NOT NULL DEFAULT 0, -- of its latest decision
  tools_blob  INTEGER NOT NULL DEFAULT 0,
  result_hash BLOB,
  result      TEXT,
  PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_lease (
  host    TEXT NOT NULL,
  device  TEXT NOT NULL,
  task    INTEGER NOT NULL REFERENCES task (n),
  attempt INTEGER NOT NULL,
  free_at INTEGER NOT NULL DEFAULT 0, -- the lease clock; 0 while the attempt is held
  grace   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (host, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim_receipt (
  host  TEXT NOT NULL,
  key   TEXT NOT NULL,
  at    INTEGER NOT NULL, -- the lease clock
  tasks TEXT NOT NULL,    -- JSON: [[task, attempt], …]
  PRIMARY KEY (host, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_receipt_oldest ON claim_receipt (at);

CREATE TABLE event (
  task       INTEGER NOT NULL REFERENCES task (n),
  attempt    INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  step       INTEGER NOT NULL,
  tool       TEXT NOT NULL,
  effect     TEXT NOT NULL,
  rule       TEXT NOT NULL,
  revision   TEXT NOT NULL,
  outcome    TEXT NOT NULL,
  duration   INTEGER NOT NULL, -- microseconds
  scene_hash TEXT NOT NULL,
  step_index INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (task, attempt, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision (
  task             INTEGER NOT NULL REFERENCES task (n),
  attempt          INTEGER NOT NULL,
  step             INTEGER NOT NULL,
  key              TEXT NOT NULL,
  body_hash        BLOB NOT NULL,
  tool             TEXT NOT NULL,
  arguments        BLOB NOT NULL,
  shot_hash        BLOB, -- NULL with the three below: there was no screenshot
  shot_width       INTEGER,
  shot_height      INTEGER,
  shot_bytes       INTEGER,
  input            INTEGER, -- NULL: the provider did not report it
  cached_input     INTEGER,
  cache_write      INTEGER,
  output           INTEGER,
  reasoning        INTEGER,
  provider         TEXT NOT NULL,
  model            TEXT NOT NULL,
  provider_request TEXT NOT NULL,
  request          TEXT NOT NULL,
  at               INTEGER NOT NULL,
  latency          INTEGER NOT NULL, -- microseconds
  system_blob      INTEGER NOT NULL,
  tools_blob       INTEGER NOT NULL,
  base             INTEGER NOT NULL, -- the step whose prompt this one was packed against; -1: it stands alone
  prompt           BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX decision_step ON decision (task, attempt, step);
CREATE UNIQUE INDEX decision_key ON decision (task, attempt, key);

-- System prompts and tool sets, once a tenant and content.
CREATE TABLE blob (
  id     INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  hash   BLOB NOT NULL,
  body   BLOB NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

-- Which tasks need a blob: it goes with the last of them.
CREATE TABLE blob_use (
  task INTEGER NOT NULL REFERENCES task (n),
  blob INTEGER NOT NULL REFERENCES blob (id),
  PRIMARY KEY (task, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_use_of_blob ON blob_use (blob);

-- One row: how much the decision log holds.
CREATE TABLE log_size (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  rows  INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO log_size (one, rows, bytes) VALUES (1, 0, 0);

CREATE TABLE usage (
  tenant                TEXT NOT NULL,
  day                   TEXT NOT NULL,
  host                  TEXT NOT NULL,
  task                  TEXT NOT NULL,
  provider              TEXT NOT NULL,
  model                 TEXT NOT NULL,
  calls                 INTEGER NOT NULL,
  failed                INTEGER NOT NULL,
  input                 INTEGER NOT NULL,
  input_unknown         INTEGER NOT NULL,
  cached_input          INTEGER NOT NULL,
  cached_input_unknown  INTEGER NOT NULL,
  cache_write           INTEGER NOT NULL,
  cache_write_unknown   INTEGER NOT NULL,
  output                INTEGER NOT NULL,
  output_unknown        INTEGER NOT NULL,
  reasoning             INTEGER NOT NULL,
  reasoning_unknown     INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, host, task, provider, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_of_task ON usage (tenant, task);

CREATE TABLE price (
  tenant       TEXT NOT NULL,
  provider     TEXT NOT NULL,
  model        TEXT NOT NULL,
  currency     TEXT NOT NULL,
  input        INTEGER NOT NULL,
  cached_input INTEGER NOT NULL,
  cache_write  INTEGER NOT NULL,
  output       INTEGER NOT NULL,
  PRIMARY KEY (tenant, provider, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE stop_switch (
  tenant TEXT PRIMARY KEY,
  stopped INTEGER NOT NULL,
  reason TEXT NOT NULL,
  who    TEXT NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_token (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  hash       BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX api_token_of_tenant ON api_token (tenant, created_at);

CREATE TABLE audit (
  tenant  TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL,
  prev    BLOB NOT NULL,
  hash    BLOB NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;
