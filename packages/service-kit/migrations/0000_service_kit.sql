-- What every service keeps beside its own tables. A service's tables follow in its own migrations.

-- The answer of every keyed write of the last 24 hours. It commits with the change it answers, so that a crash between the
-- commit and the answer still leads to one change and to a replay: the primary key makes a second run impossible.
create table idempotency (
  account_id  uuid        not null,
  method      text        not null,
  path        text        not null,
  key         text        not null,
  fingerprint bytea       not null,
  status      smallint    not null,
  answer      text,
  created_at  timestamptz not null,
  primary key (account_id, method, path, key)
);
create index idempotency_created_at on idempotency (created_at);

-- Events that are committed and not yet on the bus. `sequence` grows with every event of this service: rows that are
-- written under one resource's lock have it in the order of their changes.
create table outbox (
  sequence   bigint      generated always as identity,
  account_id uuid        not null,
  id         uuid        not null,
  kind       text        not null,
  audience   text        not null,
  envelope   text        not null,
  trace      jsonb,
  created_at timestamptz not null default now(),
  primary key (account_id, sequence)
);
create index outbox_sequence on outbox (sequence);

-- Events that a consumer has taken: its effect and this row commit together, so that a redelivered event has no second one.
create table inbox (
  account_id uuid        not null,
  event_id   uuid        not null,
  consumer   text        not null,
  taken_at   timestamptz not null default now(),
  primary key (account_id, event_id, consumer)
);
create index inbox_taken_at on inbox (taken_at);
