import { describe, expect, it } from '@jest/globals';
import { migrationFaultsOf, statementsOf } from './migrations.ts';

const of = (migration: string) =>
  migrationFaultsOf('services/crm/migrations/0003_x.sql', migration, { deployable: 'crm', version: '1.4.2' });

it('reads statements with their lines, without comments and string literals, and does not split functions', () => {
  const migration = `-- Why; or not.
create table a (id int);

  alter table a
    add column b text default 'x; drop table a';
create function f() returns void as $$ begin drop table a; end $$ language plpgsql;`;
  expect(statementsOf(migration)).toEqual([
    { line: 2, text: 'create table a (id int)' },
    { line: 4, text: "alter table a add column b text default ''" },
    { line: 6, text: 'create function f() returns void as $$ begin drop table a; end $$ language plpgsql' },
  ]);
});

describe('a migration', () => {
  it.each([
    'drop table deals;',
    'alter table deals drop column title;',
    'alter table deals rename to cases;',
    'alter table deals rename column title to name;',
    'alter table deals alter column amount type numeric;',
    'alter table deals alter column title set not null;',
  ])('may contract only what a published release no longer uses: %s', (statement) => {
    expect(of(`-- Why.\n${statement}`)).toEqual([
      expect.stringMatching(/^services\/crm\/migrations\/0003_x\.sql:2: .*release crm 1\.5\.0 without using it/),
    ]);
    expect(of(`-- unused since: crm 1.4.2\n${statement}`)).toEqual([]);
    expect(of(`-- unused since: crm 1.5.0\n${statement}`)).toHaveLength(1);
    expect(of(`-- unused since: cdp 1.0.0\n${statement}`)).toHaveLength(1);
  });

  it.each([
    ['alter table deals add column rank int not null;', 'without a default'],
    ['create index deals_rank on deals (rank);', 'create index concurrently'],
    ['create unique index deals_rank on deals (rank);', 'create index concurrently'],
    ['drop index deals_rank;', 'drop index concurrently'],
    ['alter table deals add constraint ranked check (rank > 0);', 'not valid'],
    ['alter table deals add constraint owned foreign key (owner) references members (id);', 'not valid'],
    ['alter table deals add constraint one_rank unique (rank);', 'using index'],
    ['create index concurrently if not exists a on deals (b); alter table deals add column c int;', 'a separate file'],
  ])('must not block other queries: %s', (statement, advice) => {
    expect(of(statement)).toEqual([expect.stringContaining(advice)]);
  });

  it.each([
    'alter table deals add column rank int;',
    'alter table deals add column rank int not null default 0, add column note text;',
    'create index concurrently if not exists deals_rank on deals (rank);',
    'drop index concurrently if exists deals_rank;',
    'alter table deals add constraint ranked check (rank > 0) not valid;',
    'alter table deals validate constraint ranked;',
    'alter table deals alter column title drop not null;',
    'create table notes (id int primary key, text text not null); create index notes_text on notes (text);',
  ])('may expand: %s', (statement) => {
    expect(of(statement)).toEqual([]);
  });

  it('may replace a table that it renames, and nothing else before the new table exists', () => {
    const change = 'alter table deals rename to deals_before; alter index deals_title rename to deals_before_title;';
    const table =
      'create table deals (id uuid not null) partition by range (id); create index deals_title on deals (id);';
    expect(of(`${change} ${table} alter table deals attach partition deals_before default;`)).toEqual([]);
    expect(of(`${change} create table cases (id uuid);`)).toEqual([expect.stringContaining('renames')]);
    expect(of(`alter table deals drop column title; ${table}`)).toEqual([expect.stringContaining('drops a column')]);
    expect(of(`alter table deals rename column title to name; ${table}`)).toHaveLength(1);
  });
});
