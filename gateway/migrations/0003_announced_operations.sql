-- Operations that services announced, so that a gateway that starts routes to a service that is gone: it responds with 503, not 404, for 24 h.
create table announced_operations (
  service    text        primary key,
  version    int[]       not null,
  started_at timestamptz not null,
  contract   text        not null,
  operations jsonb       not null,
  document   bytea,
  heard_at   timestamptz not null
);
