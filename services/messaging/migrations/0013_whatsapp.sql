-- Templates by which WhatsApp delivers what the platform sends on its own, and the channels that follow.
alter table templates add column whatsapp jsonb;
create table message_settings (
  account_id             uuid     primary key,
  fallback               text[]   not null,
  fallback_after_seconds integer  not null
);

-- Who wrote on a channel, by the provider's own id of them, which may be no address: where replies go to, whose contact it is, and when they
-- wrote last.
create table senders (
  account_id uuid        not null,
  channel    text        not null check (channel in ('whatsapp', 'sms', 'email')),
  sender     text        not null,
  address    text        not null,
  contact_id uuid,
  wrote_at   timestamptz not null,
  primary key (account_id, channel, sender)
);
create index senders_by_address on senders (account_id, channel, address);
create index senders_of_contact on senders (account_id, contact_id, channel) where contact_id is not null;
insert into senders (account_id, channel, sender, address, contact_id, wrote_at)
select account_id, channel, sender, sender, (array_agg(contact_id order by at desc) filter (where contact_id is not null))[1], max(at)
from inbound_messages group by account_id, channel, sender;

-- What somebody wrote, by its kind; the provider keeps files. `sender` is the provider's own id, `address` where replies go to.
alter table inbound_messages
  add column address     text not null default '',
  add column type        text not null default 'text',
  add column media       jsonb,
  add column reaction_to text;
