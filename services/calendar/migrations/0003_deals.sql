-- Which deals appointments can belong to: what Pipelines answered when asked. A deleted deal is kept as such, so that an answer
-- that was on its way while it was deleted never brings it back.
create table deals (
  account_id uuid    not null,
  id         uuid    not null,
  deleted    boolean not null,
  primary key (account_id, id)
);
-- Finds what a deleted deal is to be taken from; appointments without a deal cost nothing.
create index appointments_deal on appointments (account_id, deal_id) where deal_id is not null;
