-- A rotation keeps every earlier secret whose overlap lasts; what is fetched for an endpoint is read again when it changes;
-- an endpoint that the platform switched off is announced as it was then, whatever becomes of it.

-- Latest first: [{"secret": <base64>, "until": <instant>}].
alter table endpoints add column previous_secrets jsonb not null default '[]';
update endpoints set previous_secrets = jsonb_build_array(jsonb_build_object(
  'secret', replace(encode(previous_secret, 'base64'), e'\n', ''), 'until', previous_secret_until))
where previous_secret is not null and previous_secret_until is not null;
alter table endpoints drop column previous_secret, drop column previous_secret_until;

-- Grows when the endpoint itself changes.
alter table queues add column endpoint_version bigint not null default 0;

create table announcements (
  account_id      uuid        not null,
  endpoint_id     uuid        not null,
  url             text        not null,
  description     text        not null,
  events          text[]      not null,
  disabled_reason text        not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  id              uuid        not null default uuidv7() primary key
);
insert into announcements (account_id, endpoint_id, url, description, events, disabled_reason, created_at, updated_at)
select account_id, id, url, description, events, disabled_reason, created_at, updated_at
from endpoints where to_announce and not active and disabled_reason is not null;
alter table endpoints drop column to_announce;
