-- Changes that operators made. A change in another service is noted before it is asked for: what is not certain may have been done.
create table audit (
  account_id uuid        not null default '00000000-0000-0000-0000-000000000000',
  id         uuid        not null default uuidv7(),
  at         timestamptz not null,
  actor      text        not null,
  action     text        not null,
  target     text        not null,
  before     jsonb,
  after      jsonb,
  is_certain boolean     not null,
  primary key (account_id, id)
);
create index audit_newest on audit (id desc);
create index audit_by_actor on audit (actor, id desc);
