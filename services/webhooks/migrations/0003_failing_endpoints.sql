-- Operators see the endpoints of all accounts, those that have been failing longest first.
create index endpoints_by_failure on endpoints ((coalesce(failing_since, 'infinity')), id);
