-- Events stay for 7 days after they went to the bus, so that a restored platform can send again what its bus or its consumers lost.
-- A table of its own: an older process deletes what it has published, and keeps on working.
create table published (
  account_id   uuid        not null,
  sequence     bigint      not null,
  id           uuid        not null,
  kind         text        not null,
  audience     text        not null,
  envelope     text        not null,
  trace        jsonb,
  rounds       smallint    not null,
  created_at   timestamptz not null,
  published_at timestamptz not null default now(),
  primary key (account_id, sequence)
);
create index published_published_at on published (published_at);

-- An event that the bus would not carry is tried again later, and the rest goes on.
alter table outbox
  add column tries  smallint    not null default 0,
  -- How often it was published before: the bus takes another round of an event for another message.
  add column rounds smallint    not null default 0,
  add column due_at timestamptz not null default now(),
  add column reason text;

-- Requests to send again what was published in a span of time; worked off bit by bit.
create table republications (
  account_id   uuid        not null default '00000000-0000-0000-0000-000000000000',
  id           bigint      generated always as identity,
  since        timestamptz not null,
  until        timestamptz not null,
  primary key (account_id, id)
);

-- Messages that a consumer could not take, and events that the bus would not carry: each waits here for its next try, out of the way of
-- all others, and is dead after the last one. What is no event at all is dead at once, under no account.
create table failed_events (
  account_id uuid        not null,
  id         uuid        not null default uuidv7(),
  -- The consumer's name, or outbox.
  queue      text        not null,
  subject    text        not null,
  kind       text,
  headers    jsonb       not null,
  bytes      bytea       not null,
  reason     text        not null,
  tries      smallint    not null,
  first_at   timestamptz not null default now(),
  due_at     timestamptz,
  dead_at    timestamptz,
  primary key (account_id, id)
);
create index failed_events_due_at on failed_events (due_at) where dead_at is null;
create index failed_events_dead_at on failed_events (dead_at, id) where dead_at is not null;
