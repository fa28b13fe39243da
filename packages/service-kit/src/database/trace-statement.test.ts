import { describe, expect, it } from '@jest/globals';
import { describeStatement } from './database.ts';

describe('the span of a statement', () => {
  it.each([
    ['select id from contacts where account_id = ?', 'SELECT contacts'],
    ['insert into outbox (id) select id from unnest(?) as made', 'INSERT outbox'],
    ['with due as (select 1 from (select 2 from b) as a) update appointments set status = ?', 'UPDATE appointments'],
    ["with a as (select ') from y' from x for update) select count(*) from a", 'SELECT x'],
    ['with a as (select 1 from x for update), b as (delete from x returning 1) select 1 from b', 'DELETE x'],
    ['insert into keys (id) values (?) on conflict (id) do update set id = 1', 'INSERT keys'],
    ['delete from inbox where taken_at <= ?', 'DELETE inbox'],
    ['select pg_advisory_lock(?)', 'SELECT'],
    ['select * from (select 1 from contacts) as page', 'SELECT contacts'],
    ['select * from crm.deals', 'SELECT crm.deals'],
    ['begin ', 'BEGIN'],
    ['commit', 'COMMIT'],
    ['', 'SQL'],
  ])('of %j is called %s', (text, name) => {
    expect(describeStatement(text.split('?')).name).toBe(name);
  });

  it('has the text without values and comments, and its operation and table', () => {
    expect(describeStatement(['select 1 -- why: it is\n  from contacts\n where id = ', ' and x = ', ''])).toEqual({
      name: 'SELECT contacts',
      attributes: {
        'db.query.text': 'select 1 from contacts where id = ? and x = ?',
        'db.operation.name': 'SELECT',
        'db.collection.name': 'contacts',
      },
    });
  });
});
