-- Lists by number, in both directions, all kinds and one.
create index concurrently if not exists events_by_sequence on events (account_id, sequence);
create index concurrently if not exists events_by_type_and_sequence on events (account_id, type, sequence);
