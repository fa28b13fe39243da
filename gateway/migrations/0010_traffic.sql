-- Requests by account and minute, as each gateway counts them; the nil UUID is all accounts. Kept for 24 hours.
create table traffic (
  account_id uuid        not null,
  minute     timestamptz not null,
  instance   text        not null,
  requests   integer     not null,
  s2xx       integer     not null,
  s4xx       integer     not null,
  s404       integer     not null,
  s5xx       integer     not null,
  limited    integer     not null,
  durations  integer[]   not null,
  codes      jsonb       not null,
  keys       jsonb       not null,
  primary key (account_id, minute, instance)
);
-- Of all accounts in the last hour, and what is older than a day.
create index traffic_by_minute on traffic (minute) include (account_id, requests, s4xx, s404);
