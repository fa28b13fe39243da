-- Plans of an account that failed lately.
create index concurrently if not exists plans_failed on plans (account_id, failed_at) where failed_at is not null;
