-- Events by week of their id, in partitions that processes make ahead and drop (packages/service-kit/src/partitions.ts). What was there is the
-- partition events_before, attached without being read.
alter table events rename to events_before;
alter index events_pkey rename to events_before_pkey;
alter index events_by_type rename to events_before_by_type;
alter index events_taken_at rename to events_before_taken_at;
create table events (
  account_id uuid        not null,
  id         uuid        not null,
  type       text        not null,
  envelope   text        not null,
  trace      jsonb,
  -- How many deliveries were made with it, so that none can get lost unseen.
  matched    smallint    not null,
  taken_at   timestamptz not null,
  -- Makes taking an event twice impossible, and so making its deliveries twice.
  constraint events_pkey primary key (account_id, id)
) partition by range (id);
create index events_by_type on events (account_id, type, id);
create index events_taken_at on events (taken_at);

do $$
declare
  bound uuid := substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')
    from pg_constraint where conrelid = 'events_before'::regclass and conname = 'before_partitions';
  first_ms bigint := ('x' || translate(left(bound::text, 13), '-', ''))::bit(48)::bigint;
  from_ms bigint;
  block_ms constant bigint := 7::bigint * 86400000;
begin
  execute format('alter table events attach partition events_before for values from (minvalue) to (%L)', bound);
  alter table events_before drop constraint before_partitions;
  for from_ms in select generate_series(first_ms, (extract(epoch from now()) * 1000)::bigint + 3 * block_ms, block_ms) loop
    execute format('create table events_%s partition of events for values from (%L) to (%L)',
      to_char(to_timestamp(from_ms / 1000) at time zone 'UTC', 'YYYYMMDD'),
      rpad(lpad(to_hex(from_ms), 12, '0'), 32, '0')::uuid, rpad(lpad(to_hex(from_ms + block_ms), 12, '0'), 32, '0')::uuid);
  end loop;
end $$;
