-- Error of the last attempt, for operators; null while one runs.
alter table plans add column planning_error text;
alter table plan_steps add column last_error text;
alter table sources add column last_error text;
