-- What other services asked to be done, by the key that they asked with: asked again nothing more is done. Kept for 30 days, which is
-- longer than anybody asks.
create table taken_keys (
  account_id uuid        not null,
  key        uuid        not null,
  at         timestamptz not null,
  primary key (account_id, key)
);
create index taken_keys_at on taken_keys (at);
