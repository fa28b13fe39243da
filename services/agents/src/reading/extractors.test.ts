import { afterEach, expect, it } from '@jest/globals';
import { Extractors } from './extractors.ts';

const never = new AbortController().signal;
let extractors: Extractors | undefined;
afterEach(() => extractors?.close());

/** Reads a text of an owner. Returns the id of the process that read it. */
const readBy = (owner: string) =>
  extractors!.use(owner, never, async (extractor) => {
    await extractor.read({ type: 'txt' }, () => [Buffer.from(`A text of ${owner}`)]);
    return extractor.pid!;
  });

it("never reads two accounts' documents in one process, even if accounts alternate", async () => {
  extractors = new Extractors({ most: 1 });
  const processes = new Map<string, Set<number>>();
  for (const owner of ['ada', 'bo', 'ada', 'ada', 'cy', 'bo', 'cy', 'ada']) {
    processes.set(owner, (processes.get(owner) ?? new Set()).add(await readBy(owner)));
  }
  const all = [...processes.values()].flatMap((ofOne) => [...ofOne]);
  expect(new Set(all).size).toBe(all.length);
});
