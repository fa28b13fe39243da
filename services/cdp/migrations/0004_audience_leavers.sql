-- Where members that left stood in their audience's list: for a day a page can still be asked for that begins after one of them. Of one who
-- left more than once, the last time.
create table audience_leavers (
  account_id  uuid        not null,
  audience_id uuid        not null,
  contact_id  uuid        not null,
  entered_at  timestamptz not null,
  left_at     timestamptz not null,
  primary key (account_id, audience_id, contact_id)
);
create index audience_leavers_left_at on audience_leavers (left_at);
