// Prints what a start has to say about its arguments: its usage, or what is wrong with them. Prints nothing where it can begin.
import { readOptions, usage } from '../deploy/local/start-options.mjs';

try {
  if (readOptions(process.argv.slice(2), process.env) === 'help') console.log(usage());
} catch (error) {
  console.log(`Could not start: ${error.message}`);
  process.exitCode = 2;
}
