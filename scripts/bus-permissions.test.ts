import { contactDeleted, getContactReach, getContactSummary } from '@customer-platform/contracts/cdp';
import { expect, it } from '@jest/globals';
import { busPermissions, eventsFollowedIn, requestsNamedIn } from './bus-permissions.ts';

const requests = new Map(Object.entries({ getContactSummary, getContactReach }));

it.each([
  "import { getContactReach } from '@customer-platform/contracts/cdp';",
  "import {\n  type Contact,\n  getContactReach as reach,\n} from '@customer-platform/contracts/cdp';",
  "import * as cdp from '@customer-platform/contracts/cdp';\nawait ask(cdp.getContactReach, {});",
  "export { getContactReach } from '@customer-platform/contracts/cdp';",
])('finds the request in %j', (text) => {
  expect(requestsNamedIn(text, requests)).toEqual([getContactReach]);
});

it.each([
  "import type { getContactReach } from '@customer-platform/contracts/cdp';",
  "import { type getContactReach } from '@customer-platform/contracts/cdp';",
  "import * as cdp from '@customer-platform/contracts/cdp';\n// getContactReach",
  "import { getContactReach } from './get-contact-reach.ts';",
])('finds no request in %j', (text) => {
  expect(requestsNamedIn(text, requests)).toEqual([]);
});

it('finds the followed events, and rejects an event that no contract has', () => {
  const events = new Map(Object.entries({ contactDeleted }));
  const source = {
    file: 'gateway/src/a.ts',
    text: 'this.#bus.follow(\n  contactDeleted,\n  hear);\nkeys.follow(changes);',
  };
  expect(eventsFollowedIn(source, events)).toEqual([contactDeleted]);
  expect(() => eventsFollowedIn(source, new Map())).toThrow(/bus.follow\(contactDeleted\) must name an event/);
});

it('gives every service its own events, requests and inbox, and no wildcard over others', async () => {
  const permissions = await busPermissions();
  expect(Object.keys(permissions)).toHaveLength(8);
  for (const [name, { publish, subscribe }] of Object.entries(permissions)) {
    expect(publish.filter((subject) => subject.startsWith('{prefix}.event.'))).toEqual([`{prefix}.event.*.${name}.>`]);
    expect(publish.filter((subject) => /^_INBOX\.(?![a-z]+\.reply\.\*$)/.test(subject))).toEqual([]);
    const own = [`_INBOX.${name}.>`, `{prefix}.request.${name}.>`, '{prefix}.broadcast.>', `{prefix}.news.${name}.*`];
    expect(subscribe.slice(0, own.length)).toEqual(own);
    const heard = /^\{prefix\}\.(news\.\w+\.operations|event\.(public|internal)\.[a-z]+\.[a-z._]+)$/;
    expect(subscribe.slice(own.length).filter((subject) => !heard.test(subject))).toEqual([]);
  }
});
