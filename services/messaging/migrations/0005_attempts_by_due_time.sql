-- The engine looks at the attempts that have been due longest, whoever they belong to, before it looks at channels one by one.
create index attempts_due_longest on attempts (due_at) where due_at is not null;
