-- Running replays are taken account by account, and one that finds its endpoint busy waits longer each time.
alter table replays add column rests smallint not null default 0;
create index replays_running_of_account on replays (account_id, rests_until) where status = 'running';
