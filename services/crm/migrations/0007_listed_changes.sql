-- How far the list of an account's changes went: whatever changes from then on is later. Without a row nobody has asked for that list.
create table listed_changes (
  account_id uuid        not null primary key,
  listed_to  timestamptz not null
);
