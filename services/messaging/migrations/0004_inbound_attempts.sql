-- How often an inbound message was tried to be announced; its wait grows with it.
alter table inbound_messages add column tries integer not null default 0;
-- Messages are claimed account by account where one that has very many stands before all others.
create index inbound_messages_of_account on inbound_messages (account_id, due_at) where due_at is not null;
