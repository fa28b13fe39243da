-- Tries by day of their delivery's id: every statement names that, and so reads one partition.
alter table tries rename to tries_before;
alter index tries_pkey rename to tries_before_pkey;
create table tries (
  account_id  uuid        not null,
  delivery_id uuid        not null,
  number      integer     not null,
  at          timestamptz not null,
  status      smallint,
  error       text,
  duration_ms integer     not null,
  is_manual   boolean     not null,
  constraint tries_pkey primary key (account_id, delivery_id, number)
) partition by range (delivery_id);

do $$
declare
  bound uuid := substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')
    from pg_constraint where conrelid = 'tries_before'::regclass and conname = 'before_partitions';
  first_ms bigint := ('x' || translate(left(bound::text, 13), '-', ''))::bit(48)::bigint;
  from_ms bigint;
  block_ms constant bigint := 1::bigint * 86400000;
begin
  execute format('alter table tries attach partition tries_before for values from (minvalue) to (%L)', bound);
  alter table tries_before drop constraint before_partitions;
  for from_ms in select generate_series(first_ms, (extract(epoch from now()) * 1000)::bigint + 14 * block_ms, block_ms) loop
    execute format('create table tries_%s partition of tries for values from (%L) to (%L)',
      to_char(to_timestamp(from_ms / 1000) at time zone 'UTC', 'YYYYMMDD'),
      rpad(lpad(to_hex(from_ms), 12, '0'), 32, '0')::uuid, rpad(lpad(to_hex(from_ms + block_ms), 12, '0'), 32, '0')::uuid);
  end loop;
end $$;
