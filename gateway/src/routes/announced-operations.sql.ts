import type { RoutedOperation, ServiceName } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';

/** The latest announcement of a service's operations. */
export interface AnnouncedPart {
  service: ServiceName;
  version: number[];
  startedAt: Date;
  /** Digest of its contracts. */
  contract: string;
  operations: RoutedOperation[];
  /** Its part of the OpenAPI document, compressed. Null if its contracts equal this gateway's, or if it did not respond. */
  document: Buffer | null;
}

/** Returns the announcements of services after `since`, with their age in ms. */
export async function selectAnnounced(
  sql: Sql,
  since: Date,
  now: Date,
): Promise<(AnnouncedPart & { ageMs: number })[]> {
  const rows = await sql<(AnnouncedPart & { heardAt: Date })[]>`
    select service, version, started_at as "startedAt", contract, operations, document, heard_at as "heardAt"
    from announced_operations where heard_at > ${since}`;
  return rows.map(({ heardAt, ...part }) => ({ ...part, ageMs: Math.max(0, now.getTime() - heardAt.getTime()) }));
}

/** Stores an announcement. Skips it if another gateway stored one of a newer process within the last minute. */
export async function keepAnnounced(sql: Sql, part: AnnouncedPart, now: Date): Promise<void> {
  const { service, version, startedAt, contract, operations, document } = part;
  await sql`
    insert into announced_operations as kept (service, version, started_at, contract, operations, document, heard_at)
    values (${service}, ${version}, ${startedAt}, ${contract}, ${sql.json(operations as never)}, ${document}, ${now})
    on conflict (service) do update set
      version = excluded.version, started_at = excluded.started_at, contract = excluded.contract, operations = excluded.operations,
      document = coalesce(excluded.document, case when kept.contract = excluded.contract then kept.document end),
      heard_at = excluded.heard_at
    where (kept.version, kept.started_at) <= (excluded.version, excluded.started_at)
      or kept.heard_at < excluded.heard_at - interval '1 minute'`;
}
