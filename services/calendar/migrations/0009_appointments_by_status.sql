-- Of a status that few have, the list is not looked for among all of an account's appointments.
create index concurrently if not exists appointments_by_status on appointments (account_id, status, starts_at, id);
