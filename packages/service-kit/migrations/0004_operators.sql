-- Pauses that operators made: of a whole queue, of what belongs to an account, or of what belongs to an endpoint.
create table queue_pauses (
  account_id  uuid        not null default '00000000-0000-0000-0000-000000000000',
  queue       text        not null,
  endpoint_id uuid        not null default '00000000-0000-0000-0000-000000000000',
  reason      text        not null,
  actor       text        not null,
  paused_at   timestamptz not null,
  primary key (account_id, queue, endpoint_id)
);

-- The process that reports the depth of the service's queues: two that did would count everything twice.
create table reporters (
  account_id uuid        not null default '00000000-0000-0000-0000-000000000000',
  name       text        not null,
  holder     uuid        not null,
  held_until timestamptz not null,
  primary key (account_id, name)
);

-- Null while a try runs: only what waits after a failure may be brought forward.
alter table failed_events add column last_error text;
create index failed_events_by_queue on failed_events (queue, dead_at);
-- Lists of dead events go on after one of them, by a time that JavaScript can say.
update failed_events set dead_at = date_trunc('milliseconds', dead_at) where dead_at is not null;
