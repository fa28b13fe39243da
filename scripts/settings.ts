import { baseConfig } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { deployableNames } from './deployables.ts';

/** Returns the schema that parses a deployable's settings at its start, by deployable. */
export async function configs(): Promise<Record<string, z.ZodObject>> {
  const entries = deployableNames.map(async (name) => {
    const module = (await import(`@customer-platform/${name}`)) as Record<string, { config: z.ZodObject }> & {
      gatewayConfig?: z.ZodObject;
    };
    return [name, module.gatewayConfig ?? module[name]!.config] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the schemas of settings by name: first those of `every process`, then each deployable's own. */
export async function settingsByProcess(): Promise<Record<string, Record<string, z.ZodType>>> {
  const settings: Record<string, Record<string, z.ZodType>> = { 'every process': baseConfig.shape };
  for (const [name, { shape }] of Object.entries(await configs())) {
    const own = Object.entries(shape as Record<string, z.ZodType>).filter(
      ([setting]) => !(setting in baseConfig.shape),
    );
    if (own.length > 0) settings[name] = Object.fromEntries(own);
  }
  return settings;
}
