-- A copy of the contacts, fed by events of customer data. A merged contact names its survivor, which is never itself a merged
-- one; a deleted one is kept for what shows it and cannot be named.
create table contacts (
  account_id  uuid    not null,
  id          uuid    not null,
  name        text    not null,
  phone       text    not null,
  merged_into uuid,
  deleted     boolean not null default false,
  sequence    bigint  not null,
  primary key (account_id, id)
);
create index contacts_merged_into on contacts (account_id, merged_into) where merged_into is not null;
create index contacts_name on contacts using gin (lower(name) public.gin_trgm_ops);

-- How an account reaches people on a channel. The settings are encrypted whole: most providers' have a secret among them. The
-- token is part of the address that the provider calls.
create table channels (
  account_id uuid        not null,
  channel    text        not null check (channel in ('whatsapp', 'sms', 'email')),
  provider   text        not null,
  settings   bytea       not null,
  token      text        not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, channel)
);
create unique index channels_token on channels (token);

-- Texts of the account's own for what the platform sends by itself; without a row the default of its language is used.
create table templates (
  account_id uuid not null,
  name       text not null,
  subject    text,
  body       text,
  primary key (account_id, name)
);

-- Ids grow with time (UUID v7), so that newest first is the primary key backwards. `steps` are the channels in their order, as
-- they were given; the message is at step `step` of them, counted from 0.
create table messages (
  account_id    uuid        not null,
  id            uuid        not null default uuidv7(),
  reference     text,
  status        text        not null check (status in (
    'scheduled', 'queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'refused')),
  contact_id    uuid,
  given_to      text,
  purpose       text        not null,
  steps         jsonb       not null,
  step          smallint    not null default 0,
  -- In a sandbox nothing is really sent.
  is_simulated  boolean     not null,
  send_at       timestamptz,
  created_at    timestamptz not null,
  sent_at       timestamptz,
  delivered_at  timestamptz,
  read_at       timestamptz,
  failed_at     timestamptz,
  error_code    text,
  error_message text,
  -- The events about it, so that what endpoints were told can be asked for.
  event_ids     uuid[]      not null default '{}',
  -- Of whoever asked within the platform: asked again with it, nothing more is sent.
  key           uuid,
  trace         jsonb,
  search        text        not null generated always as (lower(coalesce(reference, '')) || E'\n' || coalesce(given_to, '')) stored,
  primary key (account_id, id),
  check ((contact_id is null) <> (given_to is null))
);
create unique index messages_key on messages (account_id, key) where key is not null;
create index messages_scheduled on messages (send_at) where status = 'scheduled';
create index messages_by_reference on messages (account_id, reference, id) where reference is not null;
create index messages_by_status on messages (account_id, status, id);
create index messages_by_contact on messages (account_id, contact_id, id) where contact_id is not null;
create index messages_search on messages using gin (search public.gin_trgm_ops);

-- One row a channel that was tried, or is to be: `due_at` says when a send is to begin, `running_since` that one runs. Of the
-- three work columns a row that is over has none. Who claims a send writes that it began before the provider is called: what a
-- process that died had begun is never sent again, for nobody knows whether it went out.
create table attempts (
  account_id    uuid        not null,
  message_id    uuid        not null,
  number        smallint    not null,
  id            uuid        not null default uuidv7(),
  channel       text        not null,
  provider      text        not null default '',
  address       text        not null default '',
  status        text        not null check (status in (
    'queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'skipped', 'unknown')),
  reason        text,
  provider_id   text,
  tries         smallint    not null default 0,
  started_at    timestamptz,
  finished_at   timestamptz,
  due_at        timestamptz,
  running_since timestamptz,
  falls_back_at timestamptz,
  primary key (account_id, message_id, number),
  unique (account_id, id),
  foreign key (account_id, message_id) references messages (account_id, id),
  check (due_at is null or running_since is null)
);
create index attempts_due on attempts (account_id, channel, due_at) where due_at is not null;
create index attempts_running on attempts (running_since) where running_since is not null;
create index attempts_falling_back on attempts (falls_back_at) where falls_back_at is not null;
create index attempts_of_provider on attempts (account_id, channel, provider_id) where provider_id is not null;

-- What providers reported about an attempt, once each, in the order in which it came; a late one changed nothing.
create table receipts (
  account_id uuid        not null,
  message_id uuid        not null,
  number     smallint    not null,
  status     text        not null check (status in ('sent', 'delivered', 'read', 'failed')),
  at         timestamptz not null,
  applied    boolean     not null,
  id         bigint      not null generated always as identity,
  primary key (account_id, message_id, number, status)
);

-- Receipts that came in and were answered for, until they are applied. One may be here before the provider's id of its message is:
-- it is looked at again later each time, and dropped after a day.
create table arrived_receipts (
  account_id  uuid        not null,
  id          bigint      not null generated always as identity,
  channel     text        not null,
  provider_id text        not null,
  status      text        not null,
  at          timestamptz not null,
  arrived_at  timestamptz not null,
  due_at      timestamptz not null,
  primary key (account_id, id),
  unique (account_id, channel, provider_id, status)
);
create index arrived_receipts_due on arrived_receipts (due_at);

-- What customers wrote: one row for each of the provider's ids, kept so that a repetition is known. Its contact is found, or made,
-- and its event emitted while `due_at` is set.
create table inbound_messages (
  account_id  uuid        not null,
  id          uuid        not null default uuidv7(),
  channel     text        not null,
  provider_id text        not null,
  sender      text        not null,
  sender_name text        not null,
  body        text        not null,
  at          timestamptz not null,
  arrived_at  timestamptz not null,
  due_at      timestamptz,
  contact_id  uuid,
  primary key (account_id, id),
  unique (account_id, channel, provider_id)
);
create index inbound_messages_due on inbound_messages (due_at) where due_at is not null;
