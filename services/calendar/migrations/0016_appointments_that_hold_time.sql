-- What is taken of a teammate's time, completed appointments included.
create index concurrently if not exists appointments_holding_time on appointments (account_id, staff_id, starts_at)
  include (id, blocked_from, ends_at) where status in ('requested', 'confirmed') or (status = 'completed' and holds_time);
drop index concurrently if exists appointments_holding;
