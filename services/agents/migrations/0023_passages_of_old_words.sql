-- Passages that are to be indexed anew.
create index concurrently if not exists passages_of_old_words on passages (account_id, source_id) where words_version = 0;
