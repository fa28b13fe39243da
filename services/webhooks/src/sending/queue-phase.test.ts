import { describe, expect, it } from '@jest/globals';
import { dry, endReading, markDue, markMissed, note, type QueuePhase, reading, unread } from './queue-phase.ts';

const [before, then] = [new Date('2026-11-20T09:00:00Z'), new Date('2026-11-20T10:00:00Z')];
const at = (version: number): QueuePhase => dry({ version, laterAt: then });

describe('a queue', () => {
  it.each<[string, QueuePhase, string]>([
    ['that was read to its end is dry', endReading(reading, { version: 5, laterAt: null }, false), 'dry'],
    ['of which a read took a part is read again', endReading(reading, { version: 5, laterAt: null }, true), 'unread'],
    [
      'is read again if something became due during the read',
      endReading(markMissed(reading), { version: 5, laterAt: null }, false),
      'unread',
    ],
    ['that is dry is not read again for a known version', markDue(at(5), 5, before), 'dry'],
    ['that is dry is read when its next time has come', markDue(at(5), 5, then), 'unread'],
    ['that is dry is read when something came in', markDue(at(5), 6, before), 'unread'],
    [
      'that is dry without a later delivery is read only for a new version',
      markDue(dry({ version: 5, laterAt: null }), 5, then),
      'dry',
    ],
    ['that is being read stays so when something is due', markDue(reading, 5, then), 'reading'],
    ['that is unread stays unread when noted', note(unread), 'unread'],
  ])('%s', (_, phase, kind) => {
    expect(phase.kind).toBe(kind);
  });

  it('stays noted until something else becomes due', () => {
    const noted = note(at(5));
    expect(noted).toMatchObject({ kind: 'dry', isNoted: true, version: 5 });
    expect(markDue(noted, 5, before)).toBe(noted);
    expect(markMissed(noted)).toBe(unread);
  });
});
