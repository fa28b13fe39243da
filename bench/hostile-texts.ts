import { atPace, type Hostility, send } from './hostility.ts';

/** Requests per second of each kind. */
const perSecond = 2;
const unknownKeys = 90_000;

/** Texts that take minutes in a pattern with backtracking: within the limit, over it, and as long as a body may be. */
const hostileTexts = [
  `{{${' '.repeat(3_000)}`,
  '{{'.repeat(2_000),
  `{{${' '.repeat(8_000)}`,
  `{{${' '.repeat(1_000_000)}`,
];

/** Returns a body of nearly 1 MiB, of keys that no operation has. */
function bodyOfUnknownKeys(): string {
  const keys = Array.from({ length: unknownKeys }, (_, index) => `"k${index}":0`);
  return `{${keys.join(',')}}`;
}

export const hostileTemplates: Hostility = {
  name: 'template texts',
  async run(setting, signal, tally) {
    const bodies = hostileTexts.map((body) => JSON.stringify({ appointment_booked: { body } }));
    await atPace(perSecond, signal, async (index) => {
      const body = bodies[index % bodies.length]!;
      const request = { key: setting.texts.key, method: 'PATCH', path: '/v1/messages/templates', body };
      tally.add((await send(setting, request, signal)).status);
    });
  },
};

/** Hostile bodies to three modules that the healthy customer uses. */
export const hostileBodies: Hostility = {
  name: `bodies of ${unknownKeys.toLocaleString('en-GB')} unknown keys`,
  async run(setting, signal, tally) {
    const body = bodyOfUnknownKeys();
    const paths = ['/v1/cdp/contacts', '/v1/crm/deals', '/v1/messages'];
    await atPace(perSecond, signal, async (index) => {
      const path = paths[index % paths.length]!;
      tally.add((await send(setting, { key: setting.texts.key, method: 'POST', path, body }, signal)).status);
    });
  },
};
