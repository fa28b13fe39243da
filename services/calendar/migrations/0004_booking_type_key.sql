-- A booking type could be deleted while it was booked, which left an appointment of a type that there is not. From now on PostgreSQL
-- refuses the one that comes second. Rows of before are looked at by the next migration, so that this one holds its lock for a moment only.
alter table appointments add constraint appointments_booking_type_fkey
  foreign key (account_id, booking_type_id) references booking_types (account_id, id) not valid;
