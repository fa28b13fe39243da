-- What failed or was refused, and was not sent again, by when that was: of an account, which takes the place of messages_failed, and of all of them.
create index concurrently if not exists messages_failed_of_account on messages (account_id, failed_at, id)
  where status in ('failed', 'refused') and resent_at is null;
create index concurrently if not exists messages_failed_of_all on messages (failed_at) include (account_id, is_simulated)
  where status in ('failed', 'refused') and resent_at is null;
drop index concurrently if exists messages_failed;
-- Channels whose provider refuses the credentials, longest first.
create index concurrently if not exists channels_failing on channels (failing_since) where failing_since is not null;
