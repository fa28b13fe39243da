-- Endpoints, the events of 30 days, what was sent of them to whom, and the queue that says where work is due.

-- Who wants to be told. Secrets are encrypted and bound to their row, so that one copied into another row does not decrypt.
create table endpoints (
  account_id            uuid        not null,
  id                    uuid        not null default uuidv7(),
  url                   text        not null,
  description           text        not null,
  events                text[]      not null,
  active                boolean     not null,
  disabled_reason       text,
  secret                bytea       not null,
  previous_secret       bytea,
  previous_secret_until timestamptz,
  -- Since when every try has failed; null after a success. Five days of it switch the endpoint off.
  failing_since         timestamptz,
  -- The platform switched it off and the event that says so is still to be published.
  to_announce           boolean     not null default false,
  created_at            timestamptz not null,
  updated_at            timestamptz not null,
  primary key (account_id, id),
  check (not (active and disabled_reason is not null))
);
create index endpoints_to_announce on endpoints (account_id, id) where to_announce;

-- Every public event once, as the text that is sent and signed: the primary key makes taking an event twice impossible.
-- `matched` is how many deliveries were made with it, so that none can get lost unseen.
create table events (
  account_id uuid        not null,
  id         uuid        not null,
  type       text        not null,
  envelope   text        not null,
  trace      jsonb,
  matched    smallint    not null,
  taken_at   timestamptz not null,
  primary key (account_id, id)
);
create index events_by_type on events (account_id, type, id);
create index events_taken_at on events (taken_at);

-- One event for one endpoint; it is pending, and then ends in a state with a reason. Rows outlive their endpoint.
create table deliveries (
  account_id           uuid        not null,
  id                   uuid        not null default uuidv7(),
  endpoint_id          uuid        not null,
  event_id             uuid        not null,
  event                text        not null,
  url                  text        not null,
  status               text        not null check (status in ('pending', 'delivered', 'failed', 'skipped')),
  reason               text        check (reason in ('exhausted', 'endpoint_disabled', 'endpoint_deleted')),
  -- Grows when the delivery is asked for again: a try that began before does not decide what follows.
  run                  integer     not null default 0,
  -- Tries of this run: the place in the retry schedule.
  step                 smallint    not null default 0,
  tries_made           integer     not null default 0,
  -- The next try was asked for by hand.
  is_manual            boolean     not null default false,
  next_try_at          timestamptz,
  response_status      smallint,
  response_body        text,
  response_duration_ms integer,
  created_at           timestamptz not null,
  primary key (account_id, id),
  -- Whatever is not over has a time at which it goes on.
  check ((status = 'pending') = (next_try_at is not null)),
  check ((status in ('failed', 'skipped')) = (reason is not null))
);
create unique index deliveries_once on deliveries (account_id, event_id, endpoint_id);
create index deliveries_due on deliveries (account_id, endpoint_id, next_try_at, id) where status = 'pending';
create index deliveries_newest on deliveries (account_id, endpoint_id, created_at, id);
create index deliveries_by_status on deliveries (account_id, endpoint_id, status, created_at, id);
create index deliveries_by_event on deliveries (account_id, endpoint_id, event, created_at, id);

-- Every try that was made, written with the state that it led to.
create table tries (
  account_id  uuid        not null,
  delivery_id uuid        not null,
  number      integer     not null,
  at          timestamptz not null,
  status      smallint,
  error       text,
  duration_ms integer     not null,
  is_manual   boolean     not null,
  primary key (account_id, delivery_id, number)
);

-- One row for each endpoint that ever had a delivery: from `due_at` on it is worth looking at. Whoever makes a delivery due
-- earlier lowers `due_at` and raises `version` in the same transaction, so that "nothing more to do" can be written only
-- over the state it was seen in. A process works on an endpoint alone, under a lease that runs out when the process dies:
-- that is what caps the tries under way per endpoint, and what brings a try that was lost back.
create table queues (
  account_id   uuid        not null,
  endpoint_id  uuid        not null,
  due_at       timestamptz not null,
  version      bigint      not null default 0,
  owner        uuid,
  leased_until timestamptz,
  primary key (account_id, endpoint_id),
  check ((owner is null) = (leased_until is null))
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);
create index queues_free on queues (due_at) where owner is null;
create index queues_leased on queues (leased_until) where owner is not null;

-- A wish to send a period again: a job that goes on where `cursor` stands, whatever happens to the process.
create table replays (
  account_id        uuid        not null,
  id                uuid        not null default uuidv7(),
  endpoint_id       uuid        not null,
  since             timestamptz not null,
  until             timestamptz not null,
  includes_delivered boolean    not null,
  status            text        not null check (status in ('running', 'completed', 'failed')),
  matched           integer     not null,
  done              integer     not null default 0,
  cursor_at         timestamptz,
  cursor_id         uuid,
  rests_until       timestamptz not null,
  created_at        timestamptz not null,
  primary key (account_id, id)
);
create index replays_running on replays (rests_until) where status = 'running';
create index replays_created_at on replays (created_at);
