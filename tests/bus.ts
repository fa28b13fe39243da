import type { ProcessPlatform } from '@customer-platform/testkit';
import { connect, type NatsConnection } from '@nats-io/transport-node';

/** Connects to a platform's bus as one of its services. With noMux, replies go to the service's reply inbox. */
export async function connectAs(platform: ProcessPlatform, service: string): Promise<NatsConnection> {
  const { hostname, port, username, password } = new URL(platform.natsUrl(service));
  return await connect({
    servers: `${hostname}:${port}`,
    user: username,
    pass: decodeURIComponent(password),
    inboxPrefix: `_INBOX.${service}.reply`,
    reconnect: false,
  });
}

/** Returns the number of events in the stream that match subjects, which may have wildcards. */
export async function countEvents(connection: NatsConnection, subjects: string): Promise<number> {
  const filter = JSON.stringify({ subjects_filter: subjects });
  const reply = await connection.request('$JS.API.STREAM.INFO.platform', filter, { timeout: 5_000 });
  const { state } = reply.json<{ state?: { subjects?: Record<string, number> } }>();
  return Object.values(state?.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}
