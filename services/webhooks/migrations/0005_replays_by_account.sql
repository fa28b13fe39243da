-- Running replays are taken account by account.
create index concurrently if not exists replays_running_of_account on replays (account_id, rests_until) where status = 'running';
