-- Booking types that were deleted while they were booked come back switched off, as they are kept where they have appointments. Of what they
-- held only what their latest appointment tells is left.
insert into booking_types (account_id, id, name, active, duration_minutes, prep_minutes, slot_interval_minutes, min_notice_minutes,
  window_days, mode, location, meeting_link, staff_ids, default_staff_id, reminders)
overriding system value
select distinct on (a.account_id, a.booking_type_id) a.account_id, a.booking_type_id, a.title, false,
  round(date_part('epoch', a.ends_at - a.starts_at) / 60)::integer, round(date_part('epoch', a.starts_at - a.blocked_from) / 60)::integer,
  30, 0, 60, a.mode, a.location, a.meeting_link, array[a.staff_id], null, '[]'
from appointments a
where not exists (select from booking_types b where b.account_id = a.account_id and b.id = a.booking_type_id)
order by a.account_id, a.booking_type_id, a.created_at desc, a.id;

alter table appointments validate constraint appointments_booking_type_fkey;
