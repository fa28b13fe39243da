-- What contacts said and did, who they are counted with, and who may be the same person.

-- Every consent and withdrawal that was recorded; nothing is changed or removed but with its contact.
create table consents (
  account_id uuid        not null,
  contact_id uuid        not null,
  id         uuid        not null default uuidv7(),
  channel    text        not null,
  purpose    text        not null,
  state      text        not null check (state in ('granted', 'withdrawn')),
  source     text        not null,
  at         timestamptz not null,
  created_at timestamptz not null,
  primary key (account_id, contact_id, id)
);

-- What counts of them: the latest of each channel and purpose, of two at one instant the withdrawal.
create table consent_states (
  account_id uuid        not null,
  contact_id uuid        not null,
  channel    text        not null,
  purpose    text        not null,
  state      text        not null,
  at         timestamptz not null,
  primary key (account_id, contact_id, channel, purpose)
);
create index consent_states_granted on consent_states (account_id, channel, purpose, contact_id) where state = 'granted';

-- What contacts did, and the platform's own events about them. An id counts within the account, whoever it is about.
create table contact_events (
  account_id uuid        not null,
  id         text        not null,
  contact_id uuid        not null,
  name       text        not null,
  at         timestamptz not null,
  properties jsonb       not null,
  primary key (account_id, id)
);
-- Who did something lately; and what one contact did.
create index contact_events_by_name on contact_events (account_id, name, at, contact_id);
create index contact_events_by_contact on contact_events (account_id, contact_id, name, at);

create table audiences (
  account_id   uuid        not null,
  id           uuid        not null default uuidv7(),
  name         text        not null,
  description  text        not null,
  rules        jsonb       not null,
  -- The names of events that the rules ask about: an event under another one moves nobody.
  event_names  text[]      not null default '{}',
  -- Grows with the rules: what was worked out from former ones is not written. Since when they are these.
  version      integer     not null default 1,
  rules_at     timestamptz not null default now(),
  status       text        not null check (status in ('building', 'ready', 'failed')),
  error        text        not null default '',
  members      integer     not null default 0,
  refreshed_at timestamptz,
  -- From when on the whole is to be worked out; null: nothing asks for it. Asking again while it runs moves it.
  due_at       timestamptz,
  -- Building: worked out as its caller asked, and told when it is done.
  building_since timestamptz,
  -- How often that failed.
  attempts     smallint    not null default 0,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (account_id, id),
  unique (account_id, name)
);
create index audiences_due on audiences (due_at) where due_at is not null;
create index audiences_building on audiences (building_since) where status = 'building';

create table audience_members (
  account_id  uuid        not null,
  audience_id uuid        not null,
  contact_id  uuid        not null,
  entered_at  timestamptz not null,
  primary key (account_id, audience_id, contact_id)
);
create index audience_members_latest on audience_members (account_id, audience_id, entered_at desc, contact_id desc);
create index audience_members_of_contact on audience_members (account_id, contact_id);

-- The next moment at which time alone can move a contact in or out of an audience; no row: none.
create table audience_flips (
  account_id  uuid        not null,
  audience_id uuid        not null,
  contact_id  uuid        not null,
  flips_at    timestamptz not null,
  primary key (account_id, audience_id, contact_id)
);
create index audience_flips_due on audience_flips (flips_at, account_id);

-- Who the refresh under way moves in and out: written and removed within its transaction, so nobody else ever sees a row.
create unlogged table audience_changes (
  account_id  uuid    not null,
  audience_id uuid    not null,
  contact_id  uuid    not null,
  entered     boolean not null,
  primary key (account_id, audience_id, contact_id)
);

-- Contacts of whom something changed that audiences may ask about; written with the change, taken by the refresh.
create table changed_contacts (
  account_id uuid        not null,
  contact_id uuid        not null,
  id         bigint      not null generated always as identity,
  primary key (account_id, id)
);

-- Pairs that look like one person: one row per two contacts, the older first, with the strongest reason.
create table duplicates (
  account_id uuid        not null,
  id         bigint      not null generated always as identity,
  older_id   uuid        not null,
  newer_id   uuid        not null,
  reason     text        not null check (reason in ('external_id', 'email', 'phone', 'name')),
  detail     text        not null,
  score      smallint    not null,
  status     text        not null check (status in ('open', 'dismissed', 'merged')),
  primary key (account_id, id),
  unique (account_id, older_id, newer_id),
  check (older_id < newer_id)
);
create index duplicates_open on duplicates (account_id, id) where status = 'open';
create index duplicates_open_by_reason on duplicates (account_id, reason, id) where status = 'open';
create index duplicates_of_newer on duplicates (account_id, newer_id);

-- When an account's contacts are next looked through for duplicates: every night of its zone, and when it is asked for.
create table duplicate_runs (
  account_id uuid        not null primary key,
  due_at     timestamptz not null
);
create index duplicate_runs_due on duplicate_runs (due_at);
-- Accounts that have contacts already; in milliseconds, as the service writes them.
insert into duplicate_runs (account_id, due_at) select account_id, date_trunc('milliseconds', now()) from contact_numbers;

-- Who stands behind a contact that stays.
create index contacts_merged_into on contacts (account_id, merged_into) where merged_into is not null;
