import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** Generates a client with @hey-api/openapi-ts: `node hey-api-program.ts <document> <folder>`. A program, because its hooks concern all modules. */
const [input, output] = process.argv.slice(2) as [string, string];

// The generator builds its code with the compiler's API of TypeScript 5, which the repository's own compiler no longer has.
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier, specifier === 'typescript' ? { ...context, parentURL: import.meta.url } : context);
  },
});
const { createClient } = await import('@hey-api/openapi-ts');
await createClient({ input: JSON.parse(readFileSync(input, 'utf8')), output, logs: { level: 'warn', file: false } });
