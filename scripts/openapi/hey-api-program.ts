import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Generates a client with @hey-api/openapi-ts: `node hey-api-program.ts <document> <folder>`. A separate program, because its hooks affect all modules. */
const [input, output] = process.argv.slice(2) as [string, string];

// The generator needs the compiler API of TypeScript 5, which the repository's own compiler lacks.
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier, specifier === 'typescript' ? { ...context, parentURL: import.meta.url } : context);
  },
});
const { createClient } = await import('@hey-api/openapi-ts');
await createClient({ input: JSON.parse(readFileSync(input, 'utf8')), output, logs: { level: 'warn', file: false } });
