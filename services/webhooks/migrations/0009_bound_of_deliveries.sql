-- As 0008, of deliveries.
do $$
declare
  day bigint := extract(epoch from now() + interval '8 days')::bigint / 86400;
begin
  execute format('alter table deliveries add constraint before_partitions check (id < %L) not valid',
    rpad(lpad(to_hex((day + 6) / 7 * 7 * 86400000), 12, '0'), 32, '0')::uuid);
end $$;
