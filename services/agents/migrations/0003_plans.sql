-- A plan is here from what led to it on: while it is being made it has planning_due_at, which who makes it moves on as a lease. One
-- for an inbound message has no agent until one is found for it, and is removed where there is none. `lapses_at` is set while
-- somebody has to decide about it or a step of it.
create table plans (
  account_id       uuid        not null,
  id               bigint      generated always as identity,
  agent_id         bigint,
  workflow_version integer,
  contact_id       uuid        not null,
  contact_number   bigint      not null default 0,
  deal_id          uuid,
  deal_number      bigint,
  deal_title       text,
  deal_stage       text,
  pipeline_id      bigint,
  pipeline_name    text,
  trigger          text        not null check (trigger in ('inbound_message', 'follow_up', 'manual')),
  trigger_text     text        not null,
  trigger_channel  text,
  -- The message or the step that led to it: it leads to one plan.
  trigger_id       uuid,
  -- How many plans led to it one after the other, each by a follow-up.
  follow_ups       smallint    not null default 0,
  goal             text        not null,
  rationale        text        not null default '',
  status           text        not null check (status in (
    'awaiting_approval', 'running', 'completed', 'rejected', 'expired', 'cancelled', 'failed')),
  approval_mode    text        not null default 'plan' check (approval_mode in ('plan', 'step', 'none')),
  approval_reasons text[]      not null default '{}',
  created_at       timestamptz not null,
  expires_at       timestamptz,
  lapses_at        timestamptz,
  tokens           bigint      not null default 0,
  model            text        not null default '',
  decided_by       text,
  decision_note    text,
  last_error       text,
  planning_due_at  timestamptz,
  planning_tries   smallint    not null default 0,
  trace            jsonb,
  primary key (account_id, id),
  foreign key (account_id, agent_id) references agents (account_id, id),
  check (agent_id is not null or planning_due_at is not null)
);
create unique index plans_trigger on plans (account_id, trigger_id) where trigger_id is not null;
create index plans_of_agent on plans (account_id, agent_id, id);
create index plans_of_contact on plans (account_id, contact_id, id);
create index plans_open on plans (account_id, id) where status in ('awaiting_approval', 'running');
create index plans_awaiting on plans (account_id, id) where lapses_at is not null;
create index plans_by_day on plans (account_id, created_at);
create index plans_planning on plans (planning_due_at) where planning_due_at is not null;
create index plans_lapsing on plans (lapses_at) where lapses_at is not null;

-- Steps run one after the other: of a plan that was approved the first that has not ended has due_at; who runs it moves due_at on, as
-- a lease. `key` goes with what it asks of others, so that a step that is run again after a crash is done once.
create table plan_steps (
  account_id        uuid        not null,
  id                bigint      generated always as identity,
  plan_id           bigint      not null,
  position          smallint    not null,
  action            text        not null check (action in ('send_message', 'add_note', 'follow_up', 'move_stage')),
  title             text        not null,
  reason            text        not null,
  params            jsonb       not null,
  detail            text,
  editable          text[]      not null,
  requires_approval boolean     not null,
  status            text        not null check (status in (
    'pending', 'awaiting_approval', 'running', 'done', 'skipped', 'cancelled', 'failed')),
  result            jsonb,
  run_at            timestamptz not null,
  key               uuid        not null default uuidv7(),
  due_at            timestamptz,
  -- When it was begun first: it is tried again for a day from then on.
  began_at          timestamptz,
  tries             integer     not null default 0,
  primary key (account_id, id),
  unique (account_id, plan_id, position),
  foreign key (account_id, plan_id) references plans (account_id, id)
);
create index plan_steps_due on plan_steps (due_at) where due_at is not null;
