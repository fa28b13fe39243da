-- Scheduled messages are released account by account where one has very many.
create index messages_scheduled_of_account on messages (account_id, send_at) where status = 'scheduled';
