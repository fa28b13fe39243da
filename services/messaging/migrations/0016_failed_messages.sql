-- Failed messages by when they failed: those of a period are sent again.
create index concurrently if not exists messages_failed on messages (account_id, failed_at, id) where status = 'failed';
