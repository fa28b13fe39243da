-- Channels that are to be tried again, or have messages to release.
create index concurrently if not exists channels_with_work on channels (work_at) where work_at is not null;
