/** What Jest has set for the spec file that runs: a module that is loaded once sees it too. */
export const jest = new Proxy({}, { get: (_, name) => globalThis.jest[name] });
export const beforeAll = (...args) => globalThis.beforeAll(...args);
