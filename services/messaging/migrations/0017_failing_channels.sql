-- A channel whose provider refuses the credentials: what is due there is held until it recovers, for an hour at most. `work_at` is when a
-- held message is to try it, or, once it is ready again, since when what was held is released.
alter table channels
  add column failing_since timestamptz,
  add column failure       text,
  add column work_at       timestamptz;

-- A held attempt is due at the end of the time for which it is held at most, counted from when it was first held.
alter table attempts
  add column held_since timestamptz,
  add column held_until timestamptz;

-- Failed messages that are sent again, each once by a request for many.
alter table messages add column resent_at timestamptz;
create table resends (
  account_id uuid        not null,
  id         uuid        not null default uuidv7(),
  since      timestamptz not null,
  until      timestamptz not null,
  code       text,
  due_at     timestamptz not null,
  primary key (account_id, id)
);
create index resends_due on resends (due_at);
create index resends_of_account on resends (account_id, due_at);
