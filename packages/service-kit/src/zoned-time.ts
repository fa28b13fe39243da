const offsetFormats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();
const quarterHourMs = 900_000;
/** Bounds the memory of known offsets; one entry is a zone and a quarter of an hour. */
const rememberedOffsets = 50_000;

/** The zone's offset from UTC at an instant, in milliseconds; zones change their offset on quarter hours only. */
export function zoneOffsetMs(zone: string, instantMs: number): number {
  const quarter = Math.floor(instantMs / quarterHourMs);
  const key = `${quarter}${zone}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    offset = computeOffsetMs(zone, quarter * quarterHourMs);
    if (offsets.size >= rememberedOffsets) offsets.clear();
    offsets.set(key, offset);
  }
  return offset;
}

function computeOffsetMs(zone: string, instantMs: number): number {
  let format = offsetFormats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    offsetFormats.set(zone, format);
  }
  const name = format.formatToParts(instantMs).find((part) => part.type === 'timeZoneName')!.value;
  const parts = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(name);
  if (!parts) throw new Error(`zone ${zone} answers an offset that cannot be read: ${name}`);
  const seconds = Number(parts[2] ?? 0) * 3600 + Number(parts[3] ?? 0) * 60 + Number(parts[4] ?? 0);
  return (parts[1] === '-' ? -seconds : seconds) * 1000;
}

/** An instant as answers show it: ISO 8601 in the zone, with its offset then; milliseconds only where there are any. */
export function formatInstant(instant: Date, zone: string): string {
  const instantMs = instant.getTime();
  const offsetMs = Math.round(zoneOffsetMs(zone, instantMs) / 60_000) * 60_000;
  const local = new Date(instantMs + offsetMs).toISOString();
  const minutes = Math.abs(offsetMs) / 60_000;
  const offset = `${offsetMs < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
  return `${local.endsWith('.000Z') ? local.slice(0, 19) : local.slice(0, 23)}${offset}`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
