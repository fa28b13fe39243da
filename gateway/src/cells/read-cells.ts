import { readFileSync } from 'node:fs';
import { announcingServices, type ServiceName } from '@customer-platform/contracts/core';
import { z } from 'zod';
import type { GatewayConfig } from '../settings.ts';

/** The cell that the gateway's own settings describe: the only one where `CELLS` is not set. */
export const mainCell = 'main';

/** Services of a cell, by name, at their addresses. */
export type ServiceUrls = { [Name in ServiceName]?: string | undefined };

/** A cell as the settings describe it. */
export interface CellSettings {
  name: string;
  serviceUrls: ServiceUrls;
  nats: Pick<
    GatewayConfig,
    'NATS_URL' | 'NATS_CREDENTIALS_FILE' | 'NATS_TLS_CA_FILE' | 'NATS_TLS_CERT_FILE' | 'NATS_TLS_KEY_FILE'
  >;
}

const maxCells = 100;
const serviceUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const path = z.string().min(1).optional();

const Described = z.strictObject({
  services: z.partialRecord(z.enum(announcingServices), serviceUrl),
  nats: z.strictObject({
    url: z.string({ error: 'must be the URL of the cell’s NATS servers, separated by commas' }).min(1),
    credentials_file: path,
    tls_ca_file: path,
    tls_cert_file: path,
    tls_key_file: path,
  }),
});

const cellName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,29}$/, { error: 'must be a name of 1 to 30 lower-case letters, digits and hyphens' })
  .refine((name) => name !== mainCell, { error: `is described by the gateway's own settings` });

const CellsFile = z
  .record(cellName, Described)
  .refine((cells) => Object.keys(cells).length <= maxCells, { error: `must have at most ${maxCells} cells` });

/**
 * Returns the cells: that of the gateway's own settings, and those of the file that `CELLS` names, a JSON object of cells by name, each
 * `{"services": {"calendar": "http://…"}, "nats": {"url": "nats://…"}}`. Throws an Error that names each wrong entry.
 */
export function readCells(config: GatewayConfig): CellSettings[] {
  const main: CellSettings = { name: mainCell, serviceUrls: serviceUrlsOf(config), nats: config };
  if (config.CELLS === undefined) return [main];
  const others = Object.entries(readFile(config.CELLS)).map(([name, { services, nats }]): CellSettings => {
    return {
      name,
      serviceUrls: services,
      nats: {
        NATS_URL: nats.url,
        NATS_CREDENTIALS_FILE: nats.credentials_file,
        NATS_TLS_CA_FILE: nats.tls_ca_file,
        NATS_TLS_CERT_FILE: nats.tls_cert_file,
        NATS_TLS_KEY_FILE: nats.tls_key_file,
      },
    };
  });
  return [main, ...others];
}

function readFile(file: string): z.output<typeof CellsFile> {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw wrong([`${file} cannot be read as JSON: ${(cause as Error).message}`], cause);
  }
  const { success, data, error } = CellsFile.safeParse(json);
  if (success) return data;
  throw wrong(
    error.issues.map((issue) => {
      const message =
        issue.code === 'invalid_key' ? issue.issues.map((each) => each.message).join(', ') : issue.message;
      return `${file}: ${[...issue.path.map(String)].join('.') || 'the file'}: ${message}`;
    }),
  );
}

function wrong(faults: string[], cause?: unknown): Error {
  return new Error(`Settings are missing or wrong:\n${faults.map((fault) => `  CELLS: ${fault}`).join('\n')}`, {
    cause,
  });
}

function serviceUrlsOf(config: GatewayConfig): ServiceUrls {
  return {
    calendar: config.CALENDAR_URL,
    agents: config.AGENTS_URL,
    cdp: config.CDP_URL,
    catalogue: config.CATALOGUE_URL,
    crm: config.CRM_URL,
    messaging: config.MESSAGING_URL,
    webhooks: config.WEBHOOKS_URL,
  };
}
