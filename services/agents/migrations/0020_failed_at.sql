-- When a plan failed, for operators; null for those that failed before, or in processes of before.
alter table plans add column failed_at timestamptz;
