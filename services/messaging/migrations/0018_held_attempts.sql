-- What is held on a channel, oldest first.
create index concurrently if not exists attempts_held on attempts (account_id, channel, message_id) where held_until is not null;
