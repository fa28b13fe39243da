-- Contacts in the order of their changes. With those that were merged: up to where a list goes is read from it too.
create index concurrently if not exists contacts_updated_at on contacts (account_id, updated_at, id);
