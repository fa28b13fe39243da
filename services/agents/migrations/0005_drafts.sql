-- When the draft of a workflow was written, as it is shown.
alter table agents add column draft_at timestamptz;
update agents set draft_at = created_at where draft is not null;
alter table agents add check (draft is null or draft_at is not null);
