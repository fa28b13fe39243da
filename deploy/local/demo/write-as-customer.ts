import { createHmac, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readJson } from '../platform-directory.ts';
import type { Demo } from './demo.ts';

const usage = `usage: npm run -s write-as-customer -- [--type TYPE] "Do you deliver on Saturdays?"
TYPE is the type of the inbound message, such as text, image or reaction; docs/messages.md lists all types`;

/** MIME type of the file that a message of each type carries. */
const mimeTypes: Readonly<Record<string, string>> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/ogg',
  document: 'application/pdf',
  sticker: 'image/webp',
};

/** Posts a WhatsApp message from the customer Casey to the demo account's hook, signed as its provider signs. */
async function main(): Promise<string> {
  const { values, positionals } = readArguments();
  const [type, text] = [values.type ?? 'text', positionals.join(' ').trim()];
  if (values.help || (text === '' && values.type === undefined)) throw new Error(usage);
  const file = resolve(import.meta.dirname, '../../../.platform/demo.json');
  const demo = readJson<Demo>(file);
  if (!demo?.whatsapp)
    throw new Error('no demo account with a channel found: create one with npm start, or with npm start -- --fresh');
  const { hook_url, secret } = demo.whatsapp;
  const id = randomUUID();
  const mime_type = mimeTypes[type];
  const media = mime_type === undefined ? undefined : { mime_type, provider_id: `file-${id}` };
  const body = JSON.stringify({ type, from: demo.try.phone, body: text, media, id, at: new Date().toISOString() });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${mac}`,
  };
  const url = new URL(new URL(hook_url).pathname, demo.gateway);
  const signal = AbortSignal.timeout(15_000);
  const response = await fetch(url, { method: 'POST', headers, body, signal }).catch((cause: unknown) => {
    throw new Error(`nothing responds at ${url.origin}: is npm start running?`, { cause });
  });
  if (!response.ok) throw new Error(`the hook responded ${response.status} ${await response.text()}`);
  return type === 'text' ? `Casey wrote: ${text}` : `Casey wrote (${type}): ${text}`;
}

function readArguments() {
  try {
    const options = { type: { type: 'string' }, help: { type: 'boolean' } } as const;
    return parseArgs({ options, allowPositionals: true });
  } catch (cause) {
    throw new Error(usage, { cause });
  }
}

try {
  console.log(await main());
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
