-- A confirmation is told with the booking's own transaction; what waits for its time are reminders alone.
delete from notices where kind <> 'reminder';
alter table notices drop column kind;
alter table notices alter column minutes_before set not null;
alter table notices rename to reminders;
alter index notices_due rename to reminders_due;
