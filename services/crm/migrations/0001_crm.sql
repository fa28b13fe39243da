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

-- Accounts that got their first pipeline: it is made once, and who deletes it does not get it back.
create table openings (
  account_id uuid not null primary key
);

create table pipelines (
  account_id uuid   not null,
  id         bigint generated always as identity,
  name       text   not null,
  primary key (account_id, id)
);

-- `position` counts from 1 within the pipeline. No unique index holds it: then a new order locks no deal out.
create table stages (
  account_id  uuid    not null,
  id          bigint  generated always as identity,
  pipeline_id bigint  not null,
  name        text    not null,
  position    integer not null,
  primary key (account_id, id),
  constraint stages_of_pipeline unique (account_id, pipeline_id, id),
  constraint stages_pipeline foreign key (account_id, pipeline_id) references pipelines (account_id, id)
);

-- Ids grow with time (UUID v7), so that newest first is an index backwards. A deal is always in a stage of its own pipeline,
-- and no stage that has deals can go: the foreign key holds both, whatever the code does.
create table deals (
  account_id       uuid        not null,
  id               uuid        not null default uuidv7(),
  number           bigint      not null,
  title            text        not null,
  pipeline_id      bigint      not null,
  stage_id         bigint      not null,
  status           text        not null check (status in ('open', 'won', 'lost')),
  value_minor      bigint      not null check (value_minor >= 0),
  currency         text        not null,
  contact_id       uuid,
  notes            text        not null,
  stage_entered_at timestamptz not null,
  closed_at        timestamptz,
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (account_id, id),
  unique (account_id, number),
  check ((closed_at is null) = (status = 'open')),
  constraint deals_stage foreign key (account_id, pipeline_id, stage_id) references stages (account_id, pipeline_id, id)
);
-- Each filter, with a status and without, in the list's order.
create index deals_status on deals (account_id, status, id);
create index deals_pipeline on deals (account_id, pipeline_id, id);
create index deals_pipeline_status on deals (account_id, pipeline_id, status, id);
create index deals_stage_list on deals (account_id, stage_id, id);
create index deals_stage_status on deals (account_id, stage_id, status, id);
create index deals_contact on deals (account_id, contact_id, id) where contact_id is not null;

-- The last number given in an account: its row lock makes numbers unique without a scan.
create table deal_numbers (
  account_id uuid   not null primary key,
  last       bigint not null
);
