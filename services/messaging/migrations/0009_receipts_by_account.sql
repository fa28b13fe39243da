-- Due receipts are taken account by account where one has very many.
create index arrived_receipts_of_account on arrived_receipts (account_id, due_at);
