-- Steps and plans are claimed account by account where one that has very many stands before all others.
create index plan_steps_due_of_account on plan_steps (account_id, due_at) where due_at is not null;
create index plans_planning_of_account on plans (account_id, planning_due_at) where planning_due_at is not null;
