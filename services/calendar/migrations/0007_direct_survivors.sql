-- Whom a contact was merged into itself, and the sequence of the event that said so last: `merged_into` is the last survivor, from which alone
-- an undone merge could not be told. Null: the two are the same, and were before this.
alter table contacts add column direct_survivor uuid;
alter table contacts add column merge_sequence bigint not null default 0;
