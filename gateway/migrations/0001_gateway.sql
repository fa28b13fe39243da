-- Accounts, their API keys and their team members: what the gateway asks before it lets a request through.

-- An account, or the sandbox twin of one. A twin's plan, modules, status, zone and limits are its parent's: both rows are
-- written by the same statement, so that reading one never needs the other.
create table accounts (
  account_id   uuid        primary key default uuidv7(),
  parent_id    uuid        unique references accounts,
  name         text        not null,
  status       text        not null default 'active' check (status in ('active', 'suspended')),
  timezone     text        not null,
  country      text        not null,
  language     text        not null,
  currency     text        not null,
  plan_name    text        not null,
  plan_api     boolean     not null,
  plan_modules text[]      not null,
  modules_off  text[]      not null,
  per_minute   integer     not null,
  burst        integer     not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null
);
create index accounts_newest on accounts (created_at desc, account_id desc) where parent_id is null;

-- API keys, test keys under the account whose sandbox they act on. Only the SHA-256 of a key is stored. A key is valid
-- while it is neither revoked, expired nor, having been rotated, past its overlap, which ends at retires_at and is not
-- passed on to its successors; rows are kept, so that a list shows who had access.
create table keys (
  account_id        uuid        not null references accounts,
  id                uuid        not null unique default uuidv7(),
  name              text        not null,
  mode              text        not null check (mode in ('live', 'test')),
  scopes            text[]      not null,
  allowed_addresses text[]      not null,
  per_minute        integer,
  burst             integer,
  hash              bytea       not null unique,
  last4             text        not null,
  created_at        timestamptz not null,
  last_used_at      timestamptz,
  expires_at        timestamptz,
  retires_at        timestamptz,
  revoked_at        timestamptz,
  primary key (account_id, id),
  check ((per_minute is null) = (burst is null))
);
create index keys_newest on keys (account_id, created_at desc, id desc);

-- Team members: one row per address and account for ever; leaving makes it inactive.
create table members (
  account_id uuid        not null references accounts,
  id         uuid        not null default uuidv7(),
  name       text        not null,
  email      text        not null,
  active     boolean     not null default true,
  created_at timestamptz not null,
  primary key (account_id, id),
  unique (account_id, email)
);
create index members_newest on members (account_id, created_at desc, id desc);

-- What gateways have to forget: each change of an account or a key that narrows what a key may do, numbered in the order
-- of the commits. The counter's row is locked from the bump to the commit, so that a reader who has seen number n has
-- seen, or can see, every number below it.
create table change_counter (
  is_only boolean primary key default true check (is_only),
  number  bigint  not null
);
insert into change_counter (number) values (0);

create table changes (
  number     bigint      primary key,
  account_id uuid        not null,
  at         timestamptz not null default now()
);
