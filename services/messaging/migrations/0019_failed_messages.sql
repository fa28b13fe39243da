-- Failed messages that were not sent again, by when they failed.
create index concurrently if not exists messages_failed on messages (account_id, failed_at, id) where status = 'failed' and resent_at is null;
