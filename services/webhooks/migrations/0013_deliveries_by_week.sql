-- Deliveries by week of their id, like events. By week and not by day: what is due, and what is listed, is read of an endpoint by time, in every
-- partition there is. Nothing is unique over event and endpoint any more: see 0007.
alter table deliveries rename to deliveries_before;
alter index deliveries_pkey rename to deliveries_before_pkey;
alter index deliveries_pending rename to deliveries_before_pending;
alter index deliveries_newest rename to deliveries_before_newest;
alter index deliveries_by_status rename to deliveries_before_by_status;
alter index deliveries_by_event rename to deliveries_before_by_event;
alter index deliveries_of_event rename to deliveries_before_of_event;
create table deliveries (
  account_id           uuid        not null,
  id                   uuid        not null default uuidv7(),
  endpoint_id          uuid        not null,
  event_id             uuid        not null,
  event                text        not null,
  url                  text        not null,
  status               text        not null,
  reason               text,
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
  constraint deliveries_pkey primary key (account_id, id),
  -- Named as the partition's: it is attached only with the same ones.
  constraint deliveries_status_check check (status in ('pending', 'delivered', 'failed', 'skipped')),
  constraint deliveries_reason_check check (reason in ('exhausted', 'endpoint_disabled', 'endpoint_deleted')),
  -- Whatever is not over has a time at which it goes on.
  constraint deliveries_check check ((status = 'pending') = (next_try_at is not null)),
  constraint deliveries_check1 check ((status in ('failed', 'skipped')) = (reason is not null))
) partition by range (id);
create index deliveries_pending on deliveries (account_id, endpoint_id, next_try_at, id) include (step) where status = 'pending';
create index deliveries_newest on deliveries (account_id, endpoint_id, created_at, id);
create index deliveries_by_status on deliveries (account_id, endpoint_id, status, created_at, id);
create index deliveries_by_event on deliveries (account_id, endpoint_id, event, created_at, id);
create index deliveries_of_event on deliveries (account_id, event_id);

do $$
declare
  bound uuid := substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')
    from pg_constraint where conrelid = 'deliveries_before'::regclass and conname = 'before_partitions';
  first_ms bigint := ('x' || translate(left(bound::text, 13), '-', ''))::bit(48)::bigint;
  from_ms bigint;
  block_ms constant bigint := 7::bigint * 86400000;
begin
  execute format('alter table deliveries attach partition deliveries_before for values from (minvalue) to (%L)', bound);
  alter table deliveries_before drop constraint before_partitions;
  for from_ms in select generate_series(first_ms, (extract(epoch from now()) * 1000)::bigint + 3 * block_ms, block_ms) loop
    execute format('create table deliveries_%s partition of deliveries for values from (%L) to (%L)',
      to_char(to_timestamp(from_ms / 1000) at time zone 'UTC', 'YYYYMMDD'),
      rpad(lpad(to_hex(from_ms), 12, '0'), 32, '0')::uuid, rpad(lpad(to_hex(from_ms + block_ms), 12, '0'), 32, '0')::uuid);
  end loop;
end $$;
