-- What an audience's computation replaced, for the event that says that it is ready.
alter table audience_moves add column previous jsonb;
