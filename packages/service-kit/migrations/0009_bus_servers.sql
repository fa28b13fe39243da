-- The server of each bus that events were last published to. One that was started again may have lost what it had acknowledged and not yet written to its
-- disk: that is sent again.
create table bus_servers (
  bus       text        not null primary key,
  server_id text        not null,
  noted_at  timestamptz not null default now()
);
