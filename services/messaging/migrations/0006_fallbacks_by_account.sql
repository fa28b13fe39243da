-- Due fallbacks are taken account by account where one has very many.
create index attempts_falling_back_of_account on attempts (account_id, falls_back_at) where falls_back_at is not null;
