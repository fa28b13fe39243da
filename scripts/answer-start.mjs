// Prints the usage of `npm start`, or the error in its arguments. Prints nothing if the start can proceed.
import { readOptions, usage } from '../deploy/local/start-options.mjs';

try {
  if (readOptions(process.argv.slice(2), process.env) === 'help') console.log(usage());
} catch (error) {
  console.log(`Could not start: ${error.message}`);
  process.exitCode = 2;
}
