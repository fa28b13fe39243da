-- Error of the last attempt, for operators; null while one runs.
alter table inbound_messages add column last_error text;
