-- When what a message is about begins: nothing of it is sent from then on.
alter table messages add column useful_until timestamptz;
