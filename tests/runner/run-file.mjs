import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { jestExpect } from '@jest/expect';
import circus from 'jest-circus/runner';
import ProcessEnvironment from './environment.mjs';
import { useGlobals } from './globals.mjs';

const globalsUrl = new URL('globals.mjs', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globalsUrl, shortCircuit: true } : next(specifier, context),
});

/** How often this process has run each file. */
const ran = new Map();

/**
 * Runs a test file as Jest does, except that Node's own loader loads its modules, once for all files of a worker. Jest would
 * evaluate each module for every file. So a test must restore what it changes in a module, the environment or a global. A file that
 * cannot, for example because telemetry starts once per process, begins with a comment `@jest-environment node` to get its own modules.
 */
export default function runFile(globalConfig, config, environment, runtime, testPath, sendMessageToJest) {
  if (environment instanceof ProcessEnvironment) loadByNode(runtime);
  return circus.default(globalConfig, config, environment, runtime, testPath, sendMessageToJest);
}

function loadByNode(runtime) {
  runtime.unstable_shouldLoadAsEsm = () => true;
  runtime.unstable_importModule = async (path) => {
    useGlobals({ ...runtime.requireModuleOrMock(path, '@jest/globals'), expect: jestExpect });
    const url = pathToFileURL(path);
    const times = ran.get(path) ?? 0;
    ran.set(path, times + 1);
    // Node evaluates a module once, but watch mode runs a file several times.
    if (times > 0) url.searchParams.set('run', times);
    await import(url);
  };
}
