-- A completed appointment keeps its time: completing it early gave the time away. What is booked from now on, by processes of the release before too,
-- `holds_time`, and so does what is moved or changes its status: it overlaps nothing that holds time. Appointments of before have null, so that the
-- new constraint compares nothing; but it looks at each row, and everybody waits for that: for a million appointments about a second. Those of
-- before that are requested or confirmed are kept apart by `appointments_no_overlap`, which a later release can drop once none of them is ahead.
alter table appointments add column holds_time boolean;
alter table appointments alter column holds_time set default true;
alter table appointments add constraint appointments_hold_time exclude using gist (
  account_id with =, staff_id with =, tstzrange(blocked_from, ends_at) with &&
) where (holds_time and status in ('requested', 'confirmed', 'completed'));

-- Where there are none of before, the new constraint keeps all of them apart.
do $$
begin
  if not exists (select from appointments) then
    alter table appointments drop constraint appointments_no_overlap;
  end if;
end $$;

-- A move that is refused names the constraint that processes of the release before know: slot_taken is what they make of it.
create function hold_time() returns trigger language plpgsql as $$
begin
  new.holds_time := true;
  if (new.staff_id, new.blocked_from, new.ends_at) is distinct from (old.staff_id, old.blocked_from, old.ends_at) and exists (
    select from appointments
    where account_id = new.account_id and staff_id = new.staff_id and tstzrange(blocked_from, ends_at) && tstzrange(new.blocked_from, new.ends_at)
      and holds_time and status in ('requested', 'confirmed', 'completed') and id <> new.id
  ) then
    raise exclusion_violation using message = 'another appointment holds the time', constraint = 'appointments_no_overlap';
  end if;
  return new;
end $$;
create trigger hold_time before update of status, staff_id, blocked_from, ends_at on appointments
  for each row when (old.status in ('requested', 'confirmed')) execute function hold_time();
