-- Operators see how many pending deliveries wait after a failed try: with `step` in the index they are counted with the others, without
-- reading the rows. A try changes its time with its step, so that no update writes more than before.
create index concurrently if not exists deliveries_pending on deliveries (account_id, endpoint_id, next_try_at, id) include (step)
  where status = 'pending';
drop index concurrently if exists deliveries_due;
