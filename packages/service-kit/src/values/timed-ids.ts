const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** Returns the lowest UUID whose first 48 bits are this instant, in epoch milliseconds. Version 7 ids from then on are greater. */
export function uuidAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Returns the instant in the first 48 bits of a UUID, in epoch milliseconds. */
export function instantOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** Returns the instant of a version 7 UUID, in epoch milliseconds; undefined for any other string. */
export function instantOfUuidV7(text: string): number | undefined {
  return uuidV7.test(text) ? instantOfUuid(text) : undefined;
}
