-- How far lists by `updated_since` have gone: what commits after one of them is later than it. An account that nobody mirrors has no row. Processes of
-- the release before do not look here: a mirror that has begun while they run begins again once they have ended.
create table listed_changes (
  account_id uuid        not null primary key,
  listed_to  timestamptz not null
);
