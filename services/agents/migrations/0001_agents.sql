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

-- The account's AI provider; the key is encrypted. Its row is also the lock under which budgets are reserved.
create table settings (
  account_id       uuid   not null primary key,
  provider         text   not null default 'openai_compatible',
  base_url         text   not null default '',
  api_key          bytea,
  model            text   not null default '',
  daily_budget     bigint,
  pipeline_budgets jsonb  not null default '{}',
  prices           jsonb  not null default '{}'
);

-- `last_version` is the greatest number that a version of its workflow ever had: numbers are not used again. An agent that was live
-- once is never removed.
create table agents (
  account_id               uuid        not null,
  id                       bigint      generated always as identity,
  name                     text        not null,
  role                     text        not null,
  status                   text        not null check (status in ('draft', 'live', 'paused', 'archived')),
  model                    text        not null,
  daily_limit              bigint,
  approval_mode            text        not null check (approval_mode in ('plan', 'step', 'none')),
  approval_timeout_seconds integer     not null,
  actions                  text[]      not null,
  collections              bigint[]    not null,
  draft                    jsonb,
  live_version             integer,
  last_version             integer     not null default 0,
  was_live                 boolean     not null default false,
  created_at               timestamptz not null,
  primary key (account_id, id)
);
create index agents_listed on agents (account_id, id) where status <> 'archived';

-- The name is the pipeline's when it was given to the agent: what is shown while Pipelines is away.
create table agent_pipelines (
  account_id  uuid     not null,
  agent_id    bigint   not null,
  pipeline_id bigint   not null,
  name        text     not null,
  position    smallint not null default 1,
  primary key (account_id, agent_id, pipeline_id),
  foreign key (account_id, agent_id) references agents (account_id, id) on delete cascade
);
create index agent_pipelines_of_pipeline on agent_pipelines (account_id, pipeline_id, agent_id);

-- What was published, never changed.
create table workflow_versions (
  account_id     uuid        not null,
  agent_id       bigint      not null,
  number         integer     not null,
  note           text        not null,
  at             timestamptz not null,
  blocks         jsonb       not null,
  -- Lists show how many blocks there are, and read none.
  block_count    integer     not null generated always as (jsonb_array_length(blocks)) stored,
  ai_block_count integer     not null generated always as (
    jsonb_array_length(jsonb_path_query_array(blocks, '$[*] ? (@.kind == "ai")'))) stored,
  primary key (account_id, agent_id, number),
  foreign key (account_id, agent_id) references agents (account_id, id) on delete cascade
);

-- Every call of an AI provider. While it runs it holds what it may use at most; then it has what was billed. `day` is the account's
-- zone's. pipeline_id 0: the plan had none.
create table ai_calls (
  account_id        uuid        not null,
  id                uuid        not null default uuidv7(),
  day               date        not null,
  agent_id          bigint      not null,
  pipeline_id       bigint      not null,
  plan_id           bigint      not null,
  kind              text        not null check (kind in ('planning')),
  provider          text        not null,
  model             text        not null,
  reserved_tokens   bigint      not null,
  -- answered: billed as it said. refused: not billed. unknown: no answer came, counted as all that it could use.
  outcome           text        check (outcome in ('answered', 'refused', 'unknown')),
  prompt_tokens     bigint      not null default 0,
  completion_tokens bigint      not null default 0,
  began_at          timestamptz not null,
  ended_at          timestamptz,
  primary key (account_id, id),
  check ((outcome is null) = (ended_at is null))
);
create index ai_calls_of_plan on ai_calls (account_id, plan_id);
create index ai_calls_open on ai_calls (began_at) where outcome is null;

-- The sums of ai_calls by day, kept with them: what budgets are held against and the report is read from.
create table usage_days (
  account_id        uuid   not null,
  day               date   not null,
  agent_id          bigint not null,
  pipeline_id       bigint not null,
  kind              text   not null,
  provider          text   not null,
  model             text   not null,
  calls             bigint not null default 0,
  prompt_tokens     bigint not null default 0,
  completion_tokens bigint not null default 0,
  reserved_tokens   bigint not null default 0,
  primary key (account_id, day, agent_id, pipeline_id, kind, provider, model)
);
