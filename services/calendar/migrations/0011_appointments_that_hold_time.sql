-- What is taken of a teammate's time, however many appointments of the same time have ended: those that hold it cannot overlap.
create index concurrently if not exists appointments_holding on appointments (account_id, staff_id, starts_at) include (id, blocked_from, ends_at)
  where status in ('requested', 'confirmed');
