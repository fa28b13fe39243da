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
 * Runs a test file as Jest does, but for its modules: Node's own loader loads them, once for all files that a worker runs, where Jest would
 * evaluate and warm up each for every file. So what a test changes of a module, of the environment or of a global it puts back. A file that
 * cannot, as telemetry starts once in a process, asks for modules of its own: it begins with `@jest-environment node` in a comment.
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
    // Node evaluates a module once, and watch mode runs a file again.
    if (times > 0) url.searchParams.set('run', times);
    await import(url);
  };
}
