-- The inbox becomes a table of partitions by day, so that old rows end with their partition. What is there becomes the first partition: this
-- says up to which event, without reading a row; the next migration checks it beside everybody's work. An event's id is a UUID v7, whose
-- first 48 bits are the milliseconds of its instant. At least a week ahead: until then processes of the release before work on, whatever becomes of
-- the migrations that follow.
do $$
declare
  bound bigint := extract(epoch from date_trunc('day', now(), 'UTC') + interval '8 days') * 1000;
begin
  execute format('alter table inbox add constraint before_partitions check (event_id < %L) not valid',
    rpad(lpad(to_hex(bound), 12, '0'), 32, '0')::uuid);
end $$;
