-- The inbox by day of the event, in partitions that processes make ahead and drop (packages/service-kit/src/partitions.ts). What was there is
-- the partition inbox_before, attached without being read.
alter table inbox rename to inbox_before;
alter index inbox_pkey rename to inbox_before_pkey;
alter index inbox_taken_at rename to inbox_before_taken_at;
create table inbox (
  account_id uuid        not null,
  event_id   uuid        not null,
  consumer   text        not null,
  taken_at   timestamptz not null default now(),
  constraint inbox_pkey primary key (account_id, event_id, consumer)
) partition by range (event_id);
-- For processes of the release before, which look for old rows by it.
create index inbox_taken_at on inbox (taken_at);

do $$
declare
  bound uuid := substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')
    from pg_constraint where conrelid = 'inbox_before'::regclass and conname = 'before_partitions';
  first_ms bigint := ('x' || translate(left(bound::text, 13), '-', ''))::bit(48)::bigint;
  from_ms bigint;
  block_ms constant bigint := 1::bigint * 86400000;
begin
  execute format('alter table inbox attach partition inbox_before for values from (minvalue) to (%L)', bound);
  alter table inbox_before drop constraint before_partitions;
  for from_ms in select generate_series(first_ms, (extract(epoch from now()) * 1000)::bigint + 14 * block_ms, block_ms) loop
    execute format('create table inbox_%s partition of inbox for values from (%L) to (%L)',
      to_char(to_timestamp(from_ms / 1000) at time zone 'UTC', 'YYYYMMDD'),
      rpad(lpad(to_hex(from_ms), 12, '0'), 32, '0')::uuid, rpad(lpad(to_hex(from_ms + block_ms), 12, '0'), 32, '0')::uuid);
  end loop;
end $$;
