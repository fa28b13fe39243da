-- Who wrote on a channel, by the provider's own id of them, which may be no address: where replies go to, whose contact it is, and when they
-- wrote last. A contact that is made of somebody without an address gets `new_contact_id`, whichever message is announced first.
create table senders (
  account_id uuid        not null,
  channel    text        not null check (channel in ('whatsapp', 'sms', 'email')),
  sender     text        not null,
  address    text        not null,
  contact_id uuid,
  wrote_at   timestamptz not null,
  new_contact_id uuid not null default uuidv7(),
  primary key (account_id, channel, sender)
);
create index senders_by_address on senders (account_id, channel, address);
create index senders_of_contact on senders (account_id, contact_id, channel) where contact_id is not null;
