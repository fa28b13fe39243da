-- In place of the unique index: the deliveries of an event, which partitions by the delivery's id cannot be unique over. What keeps a
-- delivery from being made twice is the events' primary key: deliveries are made in the statement that inserts their event, of those that
-- it inserted (takeEvents), or beside the insert of a test's own new event in one transaction (insertDelivery), and nowhere else.
create index concurrently if not exists deliveries_of_event on deliveries (account_id, event_id);
