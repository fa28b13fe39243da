-- The number of the last event of each account. Whoever records events raises it first, in the same transaction: the row's lock has writers of one
-- account commit one after the other, in the order of their numbers.
create table event_counters (
  account_id uuid   not null primary key,
  last       bigint not null
) with (fillfactor = 50);
