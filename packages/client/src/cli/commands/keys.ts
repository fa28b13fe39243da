import type { Key, KeyWithSecret } from '../../generated/types.ts';
import type { Command, CommandCall } from '../command.ts';
import { UsageError } from '../errors.ts';
import { durationMs, jsonLine, printable } from '../text.ts';
import { listCommand } from './list-command.ts';

const path = '/v1/keys';
const shownOnce = 'The key is shown only now: store it where only your servers can read it';

export const keysList = listCommand<Key>({
  name: 'keys list',
  summary: 'List API keys',
  description: 'Newest first, including revoked and expired keys. A test key lists only test keys.',
  path,
  head: ['id', 'name', 'mode', 'key', 'state', 'last used', 'scopes'],
  rowOf,
});

export const keysCreate: Command = {
  name: 'keys create',
  parameters: '',
  arity: [0, 0],
  summary: 'Create an API key',
  description:
    'Prints the key, which is shown only once. A new key can have only scopes that the key in use has. A test key creates only test keys.',
  options: [
    { name: 'name', value: 'text', isRequired: true, description: 'What the key is for' },
    {
      name: 'scopes',
      value: 'scopes',
      isMultiple: true,
      isRequired: true,
      description: "Scopes such as cdp.contacts:read, separated by commas or in repeated flags; '*' for all",
    },
    { name: 'mode', value: 'mode', choices: ['live', 'test'], description: 'Default: the mode of the key in use' },
    {
      name: 'allow',
      value: 'address',
      isMultiple: true,
      description: 'An IP address or CIDR range that may use the key; may be repeated; default: any',
    },
    { name: 'expires-at', value: 'time', description: 'When it expires, such as 2027-01-01T00:00:00Z; default: never' },
  ],
  examples: [
    'keys create --name Website --scopes cdp.contacts:read,cdp.contacts:write',
    "keys create --name CI --mode test --scopes '*' --allow 203.0.113.0/24 --expires-at 2027-01-01T00:00:00Z",
  ],
  async run(call) {
    const { key } = await call.credentials();
    const body = {
      name: call.value('name'),
      scopes: call.values('scopes').flatMap((value) => value.split(',').map((scope) => scope.trim())),
      mode: call.value('mode') ?? (key.startsWith('cp_test_') ? 'test' : 'live'),
      allowed_addresses: call.values('allow'),
      expires_at: call.value('expires-at'),
    };
    showSecret(call, await call.send<KeyWithSecret>({ method: 'POST', path }, { body }));
  },
};

export const keysRotate: Command = {
  name: 'keys rotate',
  parameters: '<id>',
  arity: [1, 1],
  summary: 'Rotate an API key',
  description: 'Creates a new key with the same scopes and prints it once. The old key stays valid for the overlap.',
  options: [
    { name: 'overlap', value: 'duration', description: 'How long the old key stays valid, 0s to 7d; default: 1d' },
  ],
  examples: ['keys rotate 0193f0a0-0000-7000-8000-000000000001 --overlap 1h'],
  async run(call) {
    const body = { overlap_seconds: overlapOf(call) };
    showSecret(call, await call.send<KeyWithSecret>({ method: 'POST', path: `${pathOf(call)}/rotate` }, { body }));
  },
};

export const keysRevoke: Command = {
  name: 'keys revoke',
  parameters: '<id>',
  arity: [1, 1],
  summary: 'Revoke an API key',
  description: 'Takes effect immediately, even on the key in use.',
  options: [],
  examples: ['keys revoke 0193f0a0-0000-7000-8000-000000000001'],
  async run(call) {
    await call.send({ method: 'DELETE', path: pathOf(call) });
    if (call.isJson) call.print(jsonLine({ id: call.positionals[0], revoked: true }));
    call.note('The key is revoked');
  },
};

function pathOf(call: CommandCall): string {
  return `${path}/${encodeURIComponent(call.positionals[0]!)}`;
}

function overlapOf(call: CommandCall): number | undefined {
  const text = call.value('overlap');
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  if (ms !== undefined) return ms / 1000;
  throw new UsageError(`--overlap must be a duration such as 0s, 1h or 7d, not ${JSON.stringify(text)}`);
}

function showSecret(call: CommandCall, created: KeyWithSecret): void {
  if (call.isJson) {
    call.print(jsonLine(created));
    return;
  }
  call.note(printable(`${created.id}  ${created.name} (${created.mode})`));
  call.print(printable(created.key));
  call.note(shownOnce);
}

function rowOf({ id, name, mode, last4, last_used_at, expires_at, revoked_at, scopes }: Key): string[] {
  const until = expires_at ? `expires ${expires_at}` : 'valid';
  return [
    id,
    name,
    mode,
    `…${last4}`,
    revoked_at ? `revoked ${revoked_at}` : until,
    last_used_at ?? '-',
    scopes.join(','),
  ];
}
