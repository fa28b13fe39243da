-- The list of deals by `updated_since`, and the latest change of an account.
create index concurrently if not exists deals_by_change on deals (account_id, updated_at, id);
