-- Booking types, teammates with their hours, appointments, and small copies of what other services own.

-- One row an account that has changed its settings; without a row the defaults of the service hold.
create table settings (
  account_id           uuid    primary key,
  enabled              boolean not null,
  mode                 text    not null check (mode in ('online', 'physical')),
  location             text    not null,
  confirmation_enabled boolean not null,
  confirmation_channel text    not null,
  reminders            jsonb   not null
);

-- A copy of the account's team, fed by the gateway's events. `sequence` is that of the event last taken: an older event
-- never overwrites a newer one. 0 is an answer that was asked for.
create table members (
  account_id uuid    not null,
  email      text    not null,
  name       text    not null,
  active     boolean not null,
  sequence   bigint  not null,
  primary key (account_id, email)
);

-- Team members who take bookings. A row is never deleted, so that appointments always find their teammate.
create table staff (
  account_id   uuid    not null,
  id           bigint  generated always as identity,
  email        text    not null,
  active       boolean not null,
  hours        jsonb   not null,
  overrides    jsonb   not null,
  location     text    not null,
  meeting_link text    not null,
  primary key (account_id, id),
  constraint staff_email unique (account_id, email)
);

-- When a teammate is away: half-open, never empty.
create table time_off (
  account_id uuid        not null,
  id         uuid        not null default uuidv7(),
  staff_id   bigint      not null,
  starts_at  timestamptz not null,
  ends_at    timestamptz not null,
  reason     text        not null,
  primary key (account_id, id),
  check (starts_at < ends_at)
);
create index time_off_list on time_off (account_id, staff_id, starts_at, id);
-- Free times read what ends after the window begins: all that is past costs nothing.
create index time_off_end on time_off (account_id, staff_id, ends_at);

-- `staff_ids` are in the order in which they are tried, after `default_staff_id`, which is one of them or null.
create table booking_types (
  account_id            uuid    not null,
  id                    bigint  generated always as identity,
  name                  text    not null,
  active                boolean not null,
  duration_minutes      integer not null,
  prep_minutes          integer not null,
  slot_interval_minutes integer not null check (1440 % slot_interval_minutes = 0),
  min_notice_minutes    integer not null,
  window_days           integer not null,
  mode                  text    not null check (mode in ('online', 'physical', 'either')),
  location              text    not null,
  meeting_link          text    not null,
  staff_ids             bigint[] not null,
  default_staff_id      bigint,
  reminders             jsonb   not null,
  primary key (account_id, id),
  check (default_staff_id is null or default_staff_id = any (staff_ids))
);

-- A copy of the contacts, fed by events of customer data; `sequence` as in members. A merged contact names its survivor,
-- which is never itself a merged one; a deleted one is kept for the appointments that show it and can't be booked.
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

-- `blocked_from` is the start less the prep of the booking type when it was booked. The exclusion constraint makes it
-- impossible that a teammate's time, prep included, is held twice: whatever the code does, and however many book at once.
-- The two bounds on lengths let a window of time be read by an index on starts_at alone.
create table appointments (
  account_id      uuid        not null,
  id              uuid        not null default uuidv7(),
  booking_type_id bigint      not null,
  title           text        not null,
  status          text        not null check (status in ('requested', 'confirmed', 'completed', 'cancelled', 'no_show')),
  contact_id      uuid        not null,
  staff_id        bigint      not null,
  blocked_from    timestamptz not null,
  starts_at       timestamptz not null,
  ends_at         timestamptz not null,
  mode            text        not null check (mode in ('online', 'physical')),
  location        text        not null,
  meeting_link    text        not null,
  notes           text        not null,
  source          text        not null,
  deal_id         uuid,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  primary key (account_id, id),
  check (starts_at < ends_at and ends_at <= starts_at + interval '24 hours'),
  check (blocked_from <= starts_at and blocked_from >= starts_at - interval '8 hours'),
  constraint appointments_no_overlap exclude using gist (
    account_id with =, staff_id with =, tstzrange(blocked_from, ends_at) with &&
  ) where (status in ('requested', 'confirmed'))
);
create index appointments_list on appointments (account_id, starts_at, id);
create index appointments_contact on appointments (account_id, contact_id, starts_at, id);
-- Serves the list of a teammate, and free times without a look at the table.
create index appointments_staff on appointments (account_id, staff_id, starts_at, id) include (status, blocked_from, ends_at);
-- Tells at once whether a booking type has appointments.
create index appointments_booking_type on appointments (account_id, booking_type_id, starts_at, id);

-- What happened to an appointment; rows are added with the change that they tell of, and never changed.
create table appointment_history (
  account_id     uuid        not null,
  appointment_id uuid        not null,
  position       bigint      generated always as identity,
  kind           text        not null,
  summary        text        not null,
  at             timestamptz not null,
  primary key (account_id, appointment_id, position)
);

-- What the contact is still to be told. Rows come and go with the appointment's own changes, in their transaction; a row is
-- deleted in the transaction that emits its event, so that each is emitted once.
create table notices (
  account_id     uuid        not null,
  appointment_id uuid        not null,
  id             bigint      generated always as identity,
  kind           text        not null check (kind in ('booked', 'rescheduled', 'reminder')),
  channel        text        not null,
  minutes_before integer     check ((minutes_before is not null) = (kind = 'reminder')),
  due_at         timestamptz not null,
  primary key (account_id, appointment_id, id)
);
create index notices_due on notices (due_at);
