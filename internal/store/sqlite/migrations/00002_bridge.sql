-- The Bridge: tenants, sites, sealed credentials, and the logs of resolutions
-- and calls. Tables that hold words of strangers have rowids, since only such
-- pages are scrubbed of what the engine leaves when it moves rows.

-- +goose Up
CREATE TABLE tenant (
  id                TEXT PRIMARY KEY,
  name              TEXT NOT NULL,
  policy            TEXT NOT NULL, -- JSON
  keep_instructions INTEGER NOT NULL DEFAULT 0,
  created_at        INTEGER NOT NULL,
  suspended_at      INTEGER NOT NULL DEFAULT 0,
  plan              TEXT NOT NULL DEFAULT '', -- with the two below: its subscription
  starts_at         INTEGER NOT NULL DEFAULT 0, -- 0: it has none
  ends_at           INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO tenant (id, name, policy, created_at) VALUES ('default', 'default', '{"max_risk":"low","revision":""}', 0);

CREATE TABLE enablement (
  tenant       TEXT NOT NULL REFERENCES tenant (id),
  app          TEXT NOT NULL,
  quota_limit  INTEGER NOT NULL,
  quota_window TEXT NOT NULL,
  enabled_at   INTEGER NOT NULL,
  PRIMARY KEY (tenant, app)
) STRICT, WITHOUT ROWID;

CREATE TABLE site (
  id          TEXT PRIMARY KEY,
  tenant      TEXT NOT NULL REFERENCES tenant (id),
  name        TEXT NOT NULL,
  per_minute  INTEGER NOT NULL,
  burst       INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  disabled_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX site_of_tenant ON site (tenant, id);

CREATE TABLE site_key (
  site        TEXT NOT NULL REFERENCES site (id),
  kid         TEXT NOT NULL,
  public      BLOB NOT NULL, -- PKIX, DER
  not_before  INTEGER NOT NULL,
  not_after   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  disabled_at INTEGER NOT NULL,
  PRIMARY KEY (site, kid)
) STRICT, WITHOUT ROWID;

CREATE TABLE spent_token (
  site       TEXT NOT NULL,
  jti        TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (site, jti)
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_token_expired ON spent_token (expires_at);

CREATE TABLE app_credential (
  n          INTEGER PRIMARY KEY,
  tenant     TEXT NOT NULL REFERENCES tenant (id),
  app        TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  key_id     TEXT NOT NULL,
  nonce      BLOB,
  ciphertext BLOB, -- NULL with the nonce: deleted, and only the revision is remembered
  set_by     TEXT NOT NULL,
  set_at     INTEGER NOT NULL,
  UNIQUE (tenant, app)
) STRICT;

-- How many calls of a model the tenant's selectors have made in a day.
CREATE TABLE selection (
  tenant TEXT NOT NULL,
  day    TEXT NOT NULL,
  taken  INTEGER NOT NULL,
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE resolution (
  n           INTEGER PRIMARY KEY,
  id          TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  site        TEXT NOT NULL,
  request     TEXT NOT NULL,
  at          INTEGER NOT NULL,
  duration    INTEGER NOT NULL, -- microseconds
  hash        BLOB NOT NULL,
  instruction TEXT NOT NULL,
  selector    TEXT NOT NULL,
  capability  TEXT NOT NULL,
  app         TEXT NOT NULL,
  operation   TEXT NOT NULL,
  reason      TEXT NOT NULL,
  effect      TEXT NOT NULL,
  rule        TEXT NOT NULL,
  revision    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX resolution_newest ON resolution (tenant, id);
CREATE INDEX resolution_oldest ON resolution (at);

CREATE TABLE call (
  n            INTEGER PRIMARY KEY,
  id           TEXT NOT NULL,
  tenant       TEXT NOT NULL,
  site         TEXT NOT NULL,
  app          TEXT NOT NULL,
  operation    TEXT NOT NULL,
  request      TEXT NOT NULL,
  key          TEXT NOT NULL,
  holds_key    INTEGER NOT NULL, -- a repeat of the key is this call
  body_hash    BLOB NOT NULL,
  arguments    BLOB,
  revision     TEXT NOT NULL,
  opened_at    INTEGER NOT NULL,
  verdict      TEXT NOT NULL,
  duration     INTEGER NOT NULL DEFAULT 0, -- microseconds
  reply        BLOB,
  charged      INTEGER NOT NULL DEFAULT 0,
  quota_window TEXT NOT NULL DEFAULT '', -- with the start: the meter that was charged
  quota_start  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX call_newest ON call (tenant, id);
CREATE UNIQUE INDEX call_of_key ON call (tenant, site, key) WHERE holds_key = 1;
CREATE INDEX call_keeping ON call (opened_at) WHERE holds_key = 1;
CREATE INDEX call_open ON call (opened_at) WHERE verdict = 'open';
CREATE INDEX call_oldest ON call (opened_at);

CREATE TABLE quota_meter (
  tenant       TEXT NOT NULL,
  app          TEXT NOT NULL,
  quota_window TEXT NOT NULL,
  starts_at    INTEGER NOT NULL,
  ends_at      INTEGER NOT NULL,
  used         INTEGER NOT NULL CHECK (used >= 0),
  PRIMARY KEY (tenant, app, quota_window, starts_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX quota_meter_ended ON quota_meter (ends_at);
