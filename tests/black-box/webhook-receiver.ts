import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Received POST request. */
export interface Received {
  path: string;
  headers: Record<string, string | undefined>;
  body: string;
}

/** Server that records its requests and responds 200 by default. */
export interface Receiver {
  port: number;
  received: Received[];
  close(): Promise<void>;
}

/** Listens on a free port of the host. Destroys requests with bodies over 1 MiB. */
export async function startReceiver(
  host: string,
  respondTo: (request: Received) => { status: number; body: string } = () => ({ status: 200, body: 'thank you' }),
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= 1_048_576) chunks.push(chunk);
      else request.destroy();
    });
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const got = { path: request.url ?? '', headers, body: Buffer.concat(chunks).toString() };
      received.push(got);
      const { status, body } = respondTo(got);
      response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, received, close };
}

/**
 * Returns why a delivery is not genuine by Standard Webhooks (HMAC-SHA256 over id.timestamp.body, at most five minutes
 * old), or null when it is. Written only from the standard, so that it shares no bug with the sender.
 * @param secret `whsec_` and base64
 */
export function whyForged({ headers, body }: Received, secret: string, nowMs: number): string | null {
  const id = headers['webhook-id'];
  const sentAt = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (!id || !sentAt || !signatures) return 'webhook-id, webhook-timestamp or webhook-signature is missing';
  if (!/^\d+$/.test(sentAt)) return `webhook-timestamp is ${sentAt}: expected Unix seconds`;
  const ageSeconds = Math.abs(nowMs / 1_000 - Number(sentAt));
  if (ageSeconds > 300) return `webhook-timestamp is ${Math.round(ageSeconds)} s off: expected at most 300 s`;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${sentAt}.${body}`).digest();
  const matches = signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',');
    const given = Buffer.from(value, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
  return matches ? null : 'no signature in webhook-signature matches id.timestamp.body and the secret';
}
