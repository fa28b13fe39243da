-- Messages are claimed account by account where one that has very many stands before all others.
create index pending_messages_of_account on pending_messages (account_id, due_at);
