-- Texts are searched otherwise from here on: see src/knowledge/search-text.ts. Passages that an older process wrote, before this one or beside it, have
-- the version 0, and are indexed anew in the background.
alter table passages add column words_version smallint not null default 0;

-- What an IndexedText is found by: its words as the configuration has them; those with accents without them too, as marks that no word is; and its bigrams.
create function search_words(configuration regconfig, indexed jsonb) returns tsvector
language sql immutable parallel safe
begin atomic
  select spelled || (indexed ->> 'grams')::tsvector || case when indexed ->> 'plain' = '' then ''::tsvector else regexp_replace(
    ts_delete(to_tsvector(configuration, indexed ->> 'plain'), tsvector_to_array(spelled))::text, '(^| )''', '\1''' || chr(2), 'g')::tsvector end
  from to_tsvector(configuration, indexed ->> 'words') as spelled;
end;
