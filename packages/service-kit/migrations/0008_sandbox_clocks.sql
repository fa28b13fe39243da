-- How far the clocks of sandbox accounts are ahead of the real time: what is due of these accounts is written in their own time.
create table sandbox_clocks (
  account_id uuid        not null primary key,
  ahead_ms   bigint      not null,
  moved_at   timestamptz not null default clock_timestamp()
);
create index sandbox_clocks_moved_at on sandbox_clocks (moved_at);
