-- As 0008, of tries, by day.
do $$
declare
  day bigint := extract(epoch from now() + interval '8 days')::bigint / 86400;
begin
  execute format('alter table tries add constraint before_partitions check (delivery_id < %L) not valid',
    rpad(lpad(to_hex(day * 86400000), 12, '0'), 32, '0')::uuid);
end $$;
