-- Who entered or left, of refreshes that moved very many, and that an audience is ready with them: their events are written some thousand at a time. An account's
-- ids grow in the order of its moves.
create table audience_moves (
  account_id  uuid   not null,
  id          bigint not null generated always as identity,
  audience_id uuid   not null,
  contact_id  uuid,
  kind        text   not null check (kind in ('entered', 'left', 'ready')),
  primary key (account_id, id),
  check ((contact_id is null) = (kind = 'ready'))
);
create index audience_moves_of_contact on audience_moves (account_id, contact_id) where contact_id is not null;

-- Accounts with such moves: found without a look at their rows, of which a transaction may have a million that it has not committed.
create table audience_announcements (
  account_id uuid        not null primary key,
  -- The last move whose event is written.
  told       bigint      not null default 0,
  due_at     timestamptz not null
);
create index audience_announcements_due on audience_announcements (due_at);
