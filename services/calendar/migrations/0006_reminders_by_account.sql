-- Due reminders are taken account by account where one has very many.
create index reminders_of_account on reminders (account_id, due_at);
