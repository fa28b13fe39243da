/** A statement of a migration, without comments, in lower case, spaces joined; `line` is where it begins. */
export interface Statement {
  line: number;
  text: string;
}

/** Returns the statements of a migration; texts and functions in them are left out: only what surrounds them is judged. */
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

/** Statements that take away from processes of the release before, and in which way. */
const contractions: [RegExp, string][] = [
  [
    /^drop (?:table|schema|view|materialized view|function|type|sequence)\b/,
    'drops what processes of the release before may use',
  ],
  [/^alter table .*\bdrop column\b/, 'drops a column that processes of the release before may use'],
  // Statements do not name indexes.
  [/^alter (?!index ).*\brename\b/, 'renames what processes of the release before know by its old name'],
  [
    /^alter table .*\balter column \S+ (?:set data )?type\b/,
    'changes the type of a column that processes of the release before use',
  ],
  [/^alter table .*\balter column \S+ set not null\b/, 'refuses rows that processes of the release before may write'],
];

const tableOf =
  /^(?:create (?:unique )?index (?:concurrently )?(?:if not exists )?\S+ on|alter table (?:if exists )?(?:only )?) ?([\w."]+)/;
const renamed = /^alter table [\w."]+ rename to /;
const created = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/;

/**
 * Returns what is wrong with a migration, each with its line: whatever keeps processes of the release before from working, or others
 * waiting for long. What contracts the schema may stand where a comment `-- unused since: <deployable> <version>` names a release that is out.
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
    // A table of its own; or one that makes room for another, which has its name when the migration commits.
    const isOwn = bornAt !== undefined && (bornAt < index || renamed.test(text));
    return isOwn ? [] : faultsOf(text, unused, { deployable, version }).map((fault) => `${file}:${line}: ${fault}`);
  });
  const concurrent = statements.filter(({ text }) => text.includes(' concurrently '));
  if (concurrent.length > 0 && concurrent.length < statements.length) {
    faults.push(
      `${file}:${concurrent[0]!.line}: builds an index concurrently beside other statements; give it a file of its own`,
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
      `${contraction}; release ${deployable} ${nextMinor(version)} without any use of it first, ` +
        `and in the one after it write "-- unused since: ${deployable} ${nextMinor(version)}" above this`,
    );
  }
  if (/^alter table /.test(text)) {
    for (const column of text.split(/\badd column\b/).slice(1)) {
      const definition = column.split(/\b(?:add|drop|alter) (?:column|constraint)\b/, 1)[0]!;
      if (/\bnot null\b/.test(definition) && !/\b(?:default|generated)\b/.test(definition))
        faults.push(
          'adds a column that must not be null without a default, which processes of the release before do not write',
        );
    }
    const isChecked = /\badd constraint \S+ (?:check|foreign key)\b/.test(text) && !/\bnot valid\b/.test(text);
    if (isChecked)
      faults.push(
        'checks every row under a lock; add the constraint "not valid", and validate it in a statement of its own',
      );
    if (/\badd constraint \S+ (?:unique|primary key) ?\(/.test(text))
      faults.push('builds an index under a lock; build it concurrently, then add the constraint "using index"');
  }
  if (/^create (?:unique )?index (?!concurrently if not exists )/.test(text))
    faults.push('builds an index under a lock; write "create index concurrently if not exists" in a file of its own');
  if (/^drop index (?!concurrently )/.test(text))
    faults.push('drops an index under a lock; write "drop index concurrently if exists" in a file of its own');
  return faults;
}

/** Returns whether the migration names a release, which is out, since which nothing uses what it drops. */
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
