-- Sources are read by account: those that are due are found one account from the other.
create index sources_due_of_account on sources (account_id, due_at) where due_at is not null;
