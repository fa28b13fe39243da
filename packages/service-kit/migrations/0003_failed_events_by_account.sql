-- Failed events are retried by account: one account's thousands delay no other's.
create index failed_events_by_account on failed_events (account_id, due_at) where dead_at is null;
