-- Deleted audiences whose members, re-evaluations and leavers are still to be removed, which a job does some thousand at a time: those of millions took
-- longer than a request may, so that the audience could never be deleted. A process of the release before deletes all at once, and notes nothing.
create table deleted_audiences (
  account_id  uuid   not null,
  audience_id uuid   not null,
  -- Grows whenever one has had its part of the work: those whose rows others hold come after the rest.
  position    bigint not null generated always as identity,
  -- Rows of contacts up to this one are removed: none of them is read over again while an old transaction keeps them from being vacuumed.
  emptied_to  uuid   not null default '00000000-0000-0000-0000-000000000000',
  primary key (account_id, audience_id)
);
create index deleted_audiences_position on deleted_audiences (position);
