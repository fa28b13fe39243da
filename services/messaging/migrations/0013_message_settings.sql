-- Templates by which WhatsApp delivers what the platform sends on its own, and the channels that follow.
alter table templates add column whatsapp jsonb;
create table message_settings (
  account_id             uuid     primary key,
  fallback               text[]   not null,
  fallback_after_seconds integer  not null
);
