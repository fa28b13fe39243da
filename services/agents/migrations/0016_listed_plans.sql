-- Plans that are listed have an agent: of inbound messages whose plan is still to be made an account may have very many, which each list read. And those whose time is
-- over one account from the other.
create index concurrently if not exists plans_listed on plans (account_id, id) where agent_id is not null;
create index concurrently if not exists plans_listed_of_contact on plans (account_id, contact_id, id) where agent_id is not null;
create index concurrently if not exists plans_listed_open on plans (account_id, id)
  where agent_id is not null and status in ('awaiting_approval', 'running');
drop index concurrently if exists plans_open;
create index concurrently if not exists plans_lapsing_of_account on plans (account_id, lapses_at) where lapses_at is not null;
