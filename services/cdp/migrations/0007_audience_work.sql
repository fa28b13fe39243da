-- Contacts of audiences by the time at which they are to be looked at again; changed ones are due at once.
create view audience_work as
  select account_id, flips_at as due_at from audience_flips
  union all
  select account_id, '-infinity'::timestamptz from changed_contacts;
