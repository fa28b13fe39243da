-- Processes of the release before record events without a number, while this one is rolled out: the row gets its number here. Those of this release
-- number a batch at once, and the trigger costs them a comparison. Accounts whose events have no numbers yet have no counter either: 0019 and 0020
-- number those. The counter is locked before it is looked whether the event is there, or one that comes twice would leave a gap.
create function number_event() returns trigger language plpgsql as $$
begin
  perform from event_counters where account_id = new.account_id for update;
  if found and not exists (select from events where account_id = new.account_id and id = new.id) then
    update event_counters set last = last + 1 where account_id = new.account_id returning last into new.sequence;
  end if;
  return new;
end $$;
create trigger number_event before insert on events for each row when (new.sequence is null) execute function number_event();
