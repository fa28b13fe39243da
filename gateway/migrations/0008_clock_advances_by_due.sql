-- What goes on next.
create index concurrently if not exists clock_advances_due_at on clock_advances (due_at);
