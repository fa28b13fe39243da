-- The list of a test key, which sees test keys only.
create index concurrently if not exists keys_of_mode_newest on keys (account_id, mode, created_at desc, id desc);
