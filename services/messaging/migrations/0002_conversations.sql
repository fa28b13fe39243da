-- What a contact wrote, newest first: half of a conversation.
create index inbound_messages_of_contact on inbound_messages (account_id, contact_id, id) where contact_id is not null;
