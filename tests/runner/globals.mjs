/** Globals of the running test file, exported as `@jest/globals`. Proxies, because a module that many files import is evaluated once. */
let ofFile;

/** Sets the globals of the test file that runs next. */
export function useGlobals(globals) {
  ofFile = globals;
}

function current(name) {
  return new Proxy(() => undefined, {
    apply: (_target, _self, parameters) => ofFile[name](...parameters),
    get: (_target, key) => ofFile[name][key],
  });
}

export const afterAll = current('afterAll');
export const afterEach = current('afterEach');
export const beforeAll = current('beforeAll');
export const beforeEach = current('beforeEach');
export const describe = current('describe');
export const expect = current('expect');
export const it = current('it');
export const jest = current('jest');
