-- What a sender wrote before and is not announced yet: later messages come behind it.
create index concurrently if not exists inbound_messages_of_sender on inbound_messages (account_id, channel, sender, id) where due_at is not null;
