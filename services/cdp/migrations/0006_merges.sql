-- A merge can be undone for 30 days: what belonged to the merged contact must be found among all that the survivor has since.

-- The contact that a merged one was merged into itself; `merged_into` is the last survivor. Null: the two are the same. When: events that
-- happened before and come after it still belong to the merged contact.
alter table contacts add column direct_survivor uuid;
alter table contacts add column merged_at timestamptz;
-- Whose it was before merges moved it; null: it was not moved.
alter table contact_events add column original_contact_id uuid;
alter table consents add column original_contact_id uuid;
-- The merged contact of the merge that recorded this withdrawal itself.
alter table consents add column merge_of uuid;

-- Merges that can still be undone, in their order, and what each gave the survivor.
create table merges (
  account_id   uuid        not null,
  id           bigint      not null generated always as identity,
  duplicate_id bigint      not null,
  survivor_id  uuid        not null,
  merged_id    uuid        not null,
  given        jsonb       not null,
  merged_at    timestamptz not null,
  primary key (account_id, id),
  unique (account_id, duplicate_id)
);
create index merges_of_survivor on merges (account_id, survivor_id);
create index merges_of_merged on merges (account_id, merged_id);
create index merges_merged_at on merges (merged_at);

-- The merged contact's other pairs as they were: the merge moves them to the survivor, or removes them.
create table merge_pairs (
  account_id uuid     not null,
  merge_id   bigint   not null,
  id         bigint   not null,
  older_id   uuid     not null,
  newer_id   uuid     not null,
  reason     text     not null,
  detail     text     not null,
  score      smallint not null,
  status     text     not null,
  primary key (account_id, merge_id, id)
);
