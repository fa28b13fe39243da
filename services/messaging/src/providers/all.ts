import { readdirSync } from 'node:fs';
import type { Provider } from './provider.ts';

/** The providers of this folder by name. A new provider only needs a file that exports it. */
export const providers: ReadonlyMap<string, Provider> = new Map(
  (
    await Promise.all(
      readdirSync(import.meta.dirname)
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .filter((name) => name !== 'all.ts' && name !== 'provider.ts')
        .map((name) => import(new URL(name, import.meta.url).href) as Promise<{ provider?: Provider }>),
    )
  ).flatMap(({ provider }) => (provider ? [[provider.name, provider] as const] : [])),
);
