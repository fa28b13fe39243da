-- Products, orders with their lines, what customers are to be told, and a copy of the contacts that other services own.
-- Money is in the minor unit of its currency, and stays below 2^53. Ids grow with time (UUID v7), so that newest first is a
-- primary key backwards.

create table products (
  account_id  uuid    not null,
  id          uuid    not null default uuidv7(),
  sku         text    not null,
  name        text    not null,
  price_minor bigint  not null check (price_minor >= 0),
  currency    text    not null,
  active      boolean not null,
  primary key (account_id, id),
  constraint products_sku unique (account_id, sku)
);

-- The last number given in an account. It is taken in the transaction that makes the order, and the row's lock lasts as long:
-- numbers have no gaps and no repeats, whatever is refused or rolled back.
create table order_numbers (
  account_id uuid   not null primary key,
  last       bigint not null
);

create table orders (
  account_id  uuid        not null,
  id          uuid        not null default uuidv7(),
  number      bigint      not null,
  status      text        not null check (status in ('new', 'confirmed', 'declined', 'fulfilled', 'cancelled')),
  source      text        not null check (source in ('cart', 'agent', 'person', 'api')),
  channel     text        not null check (channel in ('whatsapp', 'sms', 'email')),
  contact_id  uuid        not null,
  total_minor bigint      not null check (total_minor between 0 and 9007199254740991),
  currency    text        not null,
  note        text        not null,
  created_at  timestamptz not null,
  updated_at  timestamptz not null,
  primary key (account_id, id),
  constraint orders_number unique (account_id, number)
);
-- One index a filter, each in the list's order; status and source together may have nothing in common.
create index orders_status on orders (account_id, status, id);
create index orders_source on orders (account_id, source, id);
create index orders_status_source on orders (account_id, status, source, id);
create index orders_contact on orders (account_id, contact_id, id);

-- Lines are written with their order and never changed: they keep the name and the price of that moment. `product_id` is the
-- product that had the SKU then, which may have been deleted since; null where there was none.
create table order_lines (
  account_id       uuid     not null,
  order_id         uuid     not null,
  position         smallint not null,
  product_id       uuid,
  sku              text     not null,
  name             text     not null,
  quantity         integer  not null check (quantity between 1 and 9999),
  unit_price_minor bigint   not null check (unit_price_minor >= 0),
  primary key (account_id, order_id, position)
);

-- What the customer of an order is to be told and messaging has not taken yet. A row is written in the transaction of the change
-- that it tells of, and deleted once messaging has said that it has the message; its id is the key under which messaging takes
-- it once, however often it is asked. From `due_at` on it may be asked; who asks moves that past the time an answer takes.
create table pending_messages (
  account_id uuid        not null,
  id         uuid        not null default uuidv7(),
  order_id   uuid        not null,
  body       text        not null,
  trace      jsonb,
  tries      integer     not null default 0,
  due_at     timestamptz not null,
  primary key (account_id, id)
);
create index pending_messages_due on pending_messages (due_at);

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
