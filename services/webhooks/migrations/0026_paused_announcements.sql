-- What is told of an endpoint that the platform switched off is told as it was then, paused or not.
alter table announcements add column paused boolean not null default false;
