-- Those who wrote before.
insert into senders (account_id, channel, sender, address, contact_id, wrote_at)
select account_id, channel, sender, sender, (array_agg(contact_id order by at desc) filter (where contact_id is not null))[1], max(at)
from inbound_messages group by account_id, channel, sender
on conflict do nothing;
