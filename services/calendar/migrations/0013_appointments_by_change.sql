-- The list of appointments by `updated_since`, and the latest change of an account.
create index concurrently if not exists appointments_by_change on appointments (account_id, updated_at, id);
