-- The latest message that has an id of its provider's. A provider may give the same id to each: every receipt of it read all of the account's attempts.
create index concurrently if not exists attempts_of_provider_by_message on attempts (account_id, channel, provider_id, message_id)
  where provider_id is not null;
drop index concurrently if exists attempts_of_provider;
