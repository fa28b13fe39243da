-- The people that an account deals with. Ids grow with time (UUID v7), so that newest first is the primary key backwards.
create table contacts (
  account_id  uuid        not null,
  id          uuid        not null default uuidv7(),
  number      bigint      not null,
  external_id text,
  name        text        not null,
  phone       text,                              -- E.164
  email       text,                              -- trimmed, lower case
  tags        text[]      not null,
  fields      jsonb       not null,
  merged_into uuid,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  -- What a search looks through: parts of it in any case.
  search      text        not null generated always as (
    lower(name) || E'\n' || coalesce(phone, '') || E'\n' || coalesce(email, '') || E'\n' || lower(coalesce(external_id, ''))
  ) stored,
  primary key (account_id, id),
  unique (account_id, number)
);

-- One index a filter, each in the list's order; external ids need not be unique.
create index contacts_external_id on contacts (account_id, external_id, id) where external_id is not null;
create index contacts_phone on contacts (account_id, phone, id) where phone is not null;
create index contacts_email on contacts (account_id, email, id) where email is not null;
create index contacts_tags on contacts using gin (tags);
create index contacts_search on contacts using gin (search public.gin_trgm_ops);

-- The last number given in an account: its row lock makes numbers unique without a scan.
create table contact_numbers (
  account_id uuid   not null primary key,
  last       bigint not null
);
