import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../settings.ts';
import { readCells } from './read-cells.ts';

let directory: string;
let file: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cells-'));
  file = join(directory, 'cells.json');
});
afterAll(() => rmSync(directory, { recursive: true }));

const own = { CALENDAR_URL: 'http://calendar:8080', NATS_URL: 'nats://nats:4222' };

function read(text: string) {
  writeFileSync(file, text);
  return readCells({ ...own, CELLS: file } as GatewayConfig);
}

const east = { services: { crm: 'http://crm.east:8080' }, nats: { url: 'tls://nats.east:4222' } };

describe('cells', () => {
  it('are main alone without a file', () => {
    const cells = readCells(own as GatewayConfig);
    expect(cells.map(({ name, serviceUrls }) => [name, serviceUrls.calendar])).toEqual([['main', own.CALENDAR_URL]]);
  });

  it('are main and those of the file, each with its services and its bus', () => {
    const nats = { ...east.nats, credentials_file: '/run/east.creds', tls_ca_file: '/run/ca.pem' };
    const [main, other] = read(JSON.stringify({ east: { ...east, nats } }));
    expect(main).toMatchObject({ name: 'main', nats: { NATS_URL: own.NATS_URL } });
    expect(other).toMatchObject({
      name: 'east',
      serviceUrls: { crm: 'http://crm.east:8080' },
      nats: {
        NATS_URL: 'tls://nats.east:4222',
        NATS_CREDENTIALS_FILE: '/run/east.creds',
        NATS_TLS_CA_FILE: '/run/ca.pem',
      },
    });
  });

  it.each([
    ['{', 'cannot be read as JSON'],
    ['[]', 'the file: Invalid input'],
    [JSON.stringify({ main: east }), "main: is described by the gateway's own settings"],
    [JSON.stringify({ East: east }), 'East: must be a name of 1 to 30 lower-case letters'],
    [JSON.stringify({ east: { services: {} } }), 'east.nats: '],
    [
      JSON.stringify({ east: { ...east, services: { gateway: 'http://x' } } }),
      'east.services: Unrecognized key: "gateway"',
    ],
    [JSON.stringify({ east: { ...east, services: { crm: 'crm:8080' } } }), 'east.services.crm: must be an http'],
    [JSON.stringify({ east: { ...east, nats: {} } }), 'east.nats.url: must be the URL'],
    [JSON.stringify({ east: { ...east, weight: 2 } }), 'east: Unrecognized key: "weight"'],
  ])('of %s are refused with what is wrong', (text, fault) => {
    expect(() => read(text)).toThrow(`CELLS: ${file}`);
    expect(() => read(text)).toThrow(fault);
  });

  it('are refused where the file is not there', () => {
    expect(() => readCells({ ...own, CELLS: join(directory, 'none.json') } as GatewayConfig)).toThrow(
      'none.json cannot be read as JSON: ENOENT',
    );
  });
});
