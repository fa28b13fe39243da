-- Each event's number in its account, from 1, without gaps. Without a default or a bound, so that no row is read; 0019 numbers those that there are.
alter table events add column sequence bigint;
