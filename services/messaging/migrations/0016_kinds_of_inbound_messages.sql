-- What somebody wrote, by its kind; the provider keeps files. `sender` is the provider's own id, `address` where replies go to.
alter table inbound_messages
  add column address     text not null default '',
  add column type        text not null default 'text',
  add column media       jsonb,
  add column reaction_to text;
