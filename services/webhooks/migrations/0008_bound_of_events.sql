-- Events, deliveries and tries become tables of partitions by time, so that old rows end with their partition. What is there becomes each
-- one's first partition: this says up to which id, without reading a row; 0011 checks it beside everybody's work. Ids are UUIDs v7, whose
-- first 48 bits are the milliseconds of their instant. At least a week ahead: until then processes of the release before work on, whatever
-- becomes of the migrations that follow. Weeks are counted from the epoch: they begin on Thursdays. Each table in a migration of its own,
-- here and below: one that is locked while another is waited for would end in deadlocks with those who write both.
do $$
declare
  day bigint := extract(epoch from now() + interval '8 days')::bigint / 86400;
begin
  execute format('alter table events add constraint before_partitions check (id < %L) not valid',
    rpad(lpad(to_hex((day + 6) / 7 * 7 * 86400000), 12, '0'), 32, '0')::uuid);
end $$;
