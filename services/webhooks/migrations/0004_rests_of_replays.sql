-- A running replay that finds its endpoint busy waits longer each time.
alter table replays add column rests smallint not null default 0;
