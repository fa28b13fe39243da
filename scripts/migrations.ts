/** Statement of a migration in lower case, without comments, with single spaces. `line` is its first line. */
export interface Statement {
  line: number;
  text: string;
}

/** Returns the statements of a migration. Empties string literals, and does not split function bodies. */
export function statementsOf(migration: string): Statement[] {
  const statements: Statement[] = [];
  let text = '';
  let line = 1;
  let beganAt = 1;
  for (const [token] of migration.matchAll(/--[^\n]*|\$\$|'[^']*'|;|\s+|[^\s;'$-]+|[\s\S]/g)) {
    const isInFunction = text.split('$$').length % 2 === 0;
    if (token === ';' && !isInFunction) {
      if (text.trim() !== '') statements.push({ line: beganAt, text: text.trim() });
      text = '';
    } else if (!token.startsWith('--')) {
      if (text === '' && token.trim() !== '') beganAt = line;
      if (token.trim() !== '') text += token.startsWith("'") ? "''" : token.toLowerCase();
      else if (text !== '') text += ' ';
    }
    line += token.split('\n').length - 1;
  }
  if (text.trim() !== '') statements.push({ line: beganAt, text: text.trim() });
  return statements;
}

/** Statements that break processes of the previous release, and how. */
const contractions: [RegExp, string][] = [
  [
    /^drop (?:table|schema|view|materialized view|function|type|sequence)\b/,
    'drops something that processes of the previous release may use',
  ],
  [/^alter table .*\bdrop column\b/, 'drops a column that processes of the previous release may use'],
  // Statements do not name indexes.
  [/^alter (?!index ).*\brename\b/, 'renames something that processes of the previous release use by its old name'],
  [
    /^alter table .*\balter column \S+ (?:set data )?type\b/,
    'changes the type of a column that processes of the previous release use',
  ],
  [/^alter table .*\balter column \S+ set not null\b/, 'rejects rows that processes of the previous release may write'],
];

const tableOf =
  /^(?:create (?:unique )?index (?:concurrently )?(?:if not exists )?\S+ on|alter table (?:if exists )?(?:only )?) ?([\w."]+)/;
const renamed = /^alter table [\w."]+ rename to /;
const created = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/;

/**
 * Returns the faults of a migration with their lines: statements that break processes of the previous release, or that block other
 * queries for long. A statement may contract the schema if a comment `-- unused since: <deployable> <version>` names a published release.
 */
export function migrationFaultsOf(
  file: string,
  migration: string,
  { deployable, version }: { deployable: string; version: string },
): string[] {
  const statements = statementsOf(migration);
  const createdAt = new Map(statements.flatMap(({ text }, index) => nameAndIndex(created.exec(text)?.[1], index)));
  const unused = unusedSinceOf(migration, deployable, version);
  const faults = statements.flatMap(({ line, text }, index) => {
    const table = tableOf.exec(text)?.[1];
    const bornAt = table === undefined ? undefined : createdAt.get(table);
    // A table that this migration creates, or one that it renames so that a new table takes its name.
    const isOwn = bornAt !== undefined && (bornAt < index || renamed.test(text));
    return isOwn ? [] : faultsOf(text, unused, { deployable, version }).map((fault) => `${file}:${line}: ${fault}`);
  });
  const concurrent = statements.filter(({ text }) => text.includes(' concurrently '));
  if (concurrent.length > 0 && concurrent.length < statements.length) {
    faults.push(
      `${file}:${concurrent[0]!.line}: builds an index concurrently next to other statements; put it into a separate file`,
    );
  }
  return faults;
}

const nameAndIndex = (name: string | undefined, index: number): [string, number][] =>
  name === undefined ? [] : [[name, index]];

function faultsOf(
  text: string,
  isUnused: boolean,
  { deployable, version }: { deployable: string; version: string },
): string[] {
  const faults: string[] = [];
  const contraction = contractions.find(([pattern]) => pattern.test(text))?.[1];
  if (contraction && !isUnused) {
    faults.push(
      `${contraction}; release ${deployable} ${nextMinor(version)} without using it first, ` +
        `and in the release after it write "-- unused since: ${deployable} ${nextMinor(version)}" above this`,
    );
  }
  if (/^alter table /.test(text)) {
    for (const column of text.split(/\badd column\b/).slice(1)) {
      const definition = column.split(/\b(?:add|drop|alter) (?:column|constraint)\b/, 1)[0]!;
      if (/\bnot null\b/.test(definition) && !/\b(?:default|generated)\b/.test(definition))
        faults.push('adds a not-null column without a default, which processes of the previous release do not write');
    }
    const isChecked = /\badd constraint \S+ (?:check|foreign key)\b/.test(text) && !/\bnot valid\b/.test(text);
    if (isChecked)
      faults.push(
        'checks every row under a lock; add the constraint "not valid", and validate it in a separate statement',
      );
    if (/\badd constraint \S+ (?:unique|primary key) ?\(/.test(text))
      faults.push('builds an index under a lock; build it concurrently, then add the constraint "using index"');
  }
  if (/^create (?:unique )?index (?!concurrently if not exists )/.test(text))
    faults.push('builds an index under a lock; write "create index concurrently if not exists" in a separate file');
  if (/^drop index (?!concurrently )/.test(text))
    faults.push('drops an index under a lock; write "drop index concurrently if exists" in a separate file');
  return faults;
}

/** Returns whether the migration names a published release since which nothing uses the dropped object. */
function unusedSinceOf(migration: string, deployable: string, version: string): boolean {
  const named = /^-- unused since: (\S+) (\d+)\.(\d+)\.(\d+)$/m.exec(migration);
  if (!named || named[1] !== deployable) return false;
  const [major, minor, patch] = version.split('.').map(Number);
  const parts = [Number(named[2]) - major!, Number(named[3]) - minor!, Number(named[4]) - patch!];
  return (parts.find((difference) => difference !== 0) ?? 0) <= 0;
}

function nextMinor(version: string): string {
  const [major, minor] = version.split('.').map(Number);
  return `${major}.${minor! + 1}.0`;
}
