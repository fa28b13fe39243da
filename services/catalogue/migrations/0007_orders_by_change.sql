-- The list of orders by `updated_since`, and the latest change of an account.
create index concurrently if not exists orders_by_change on orders (account_id, updated_at, id);
