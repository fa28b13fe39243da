-- Questions keep their symbols when they are compared, from here on: "Do you sell C++?" is not "Do you sell C#?". Those that are stored are
-- made anew as src/knowledge/comparable-question.ts makes them.
with asked as (
  select account_id, id, question from sources cross join unnest(title || alternates) as question where kind = 'faq'
), written as (
  select account_id, id, regexp_replace(
    regexp_replace(lower(normalize(question, NFKC) collate pg_unicode_fast), '[‘’‛ʼ`´]', '''', 'g'),
    '[\u00ad\u200b\u2060\ufe0e\ufe0f\ufeff]', '', 'g') as question
  from asked
), framed as (
  select account_id, id, question, regexp_replace(question,
    '(?<!\S)(?:[''"«»“”„‚‹›「」『』¿¡]|\.{2,})+|(?:[?!.,;:。、،؟؛।]|(?<![0-9])[''"«»“”„‚‹›「」『』])+(?!\S)', '', 'g') as bare
  from written
), compared as (
  select account_id, id, array_agg(distinct question) filter (where question <> '') as questions
  from (
    select account_id, id, btrim(regexp_replace(case when bare ~ '\S' then bare else question end, '\s+', ' ', 'g')) as question
    from framed
  ) as spaced
  group by account_id, id
)
update passages p set questions = coalesce(c.questions, '{}')
from compared c
where p.account_id = c.account_id and p.source_id = c.id and p.questions is distinct from coalesce(c.questions, '{}');
