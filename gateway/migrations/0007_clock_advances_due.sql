-- Advances are rows of a queue: `due_at` is when one goes on, or until when a gateway has it. `holder`, `leased_until`, `waits_since` and
-- `began_at` are used by gateways of the release before only.
alter table clock_advances
  add column due_at     timestamptz not null default now(),
  add column attempts   integer     not null default 0,
  add column last_error text;
