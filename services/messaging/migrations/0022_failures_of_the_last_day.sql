-- What failed lately and was not sent again: of an account, and of all of them.
create index concurrently if not exists messages_failed_of_account on messages (account_id, failed_at)
  where status in ('failed', 'refused') and resent_at is null;
create index concurrently if not exists messages_failed_of_all on messages (failed_at) include (account_id, is_simulated)
  where status in ('failed', 'refused') and resent_at is null;
-- Channels whose provider refuses the credentials, longest first.
create index concurrently if not exists channels_failing on channels (failing_since) where failing_since is not null;
