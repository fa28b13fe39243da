-- By the audience alone. With the account before it, this index looked as good as the primary key for finding an account's audiences by the name of
-- an event, while statistics were older than the account's audiences: a batch of events then read all of the account's names for each event, took
-- longer than a statement may, and everybody's events waited behind it.
create index concurrently if not exists audience_event_names_by_audience on audience_event_names (audience_id);
drop index concurrently if exists audience_event_names_of_audience;
