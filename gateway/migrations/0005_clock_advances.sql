-- Clocks of sandbox accounts on their way: one row from the request until all that was due on the way is done.
create table clock_advances (
  account_id   uuid        not null primary key,
  target       timestamptz not null,
  -- The one that waited longest is moved next.
  waits_since  timestamptz not null default clock_timestamp(),
  holder       uuid,
  leased_until timestamptz
);
create index clock_advances_waiting on clock_advances (waits_since);
