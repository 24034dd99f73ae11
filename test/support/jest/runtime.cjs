/**
 * Runs spec files as Node.js runs any program: without a copy of all modules for each file, which took more than half of the suite's time.
 * The specs of one worker process share the modules.
 */
const { createRequire, register } = require('node:module');
const { pathToFileURL } = require('node:url');
const { default: Runtime } = require('jest-runtime');

register('../typescript-hooks.mjs', pathToFileURL(__filename));
process.setSourceMapsEnabled(true);

const FRAMEWORK = /[\\/]node_modules[\\/](?:@jest[\\/]expect|jest-circus|jest-snapshot|expect)[\\/]/;

/** What jest-circus keeps in the global object, which in Jest is one of each file. */
const PER_FILE = ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL'];

module.exports = class NativeRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    // Each file has its own list of tests, listeners and time limit, and its own state of `expect`.
    for (const name of PER_FILE) Reflect.deleteProperty(globalThis, Symbol.for(name));
    for (const path of Object.keys(require.cache)) if (FRAMEWORK.test(path)) delete require.cache[path];
    globalThis.jest = this.jestGlobals.jestObjectFor(args[6]);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(path) {
    // Node.js itself maps stacks to the sources; Jest's own function knows nothing of these modules.
    Error.prepareStackTrace = undefined;
    const url = pathToFileURL(path);
    // What belongs to each file runs for each file.
    if (!path.includes('.spec.')) url.search = `?${String(NativeRuntime.files++)}`;
    return import(url);
  }

  requireInternalModule(from, to) {
    return to === undefined ? require(from) : createRequire(from)(to);
  }
};
module.exports.default = module.exports;
module.exports.files = 0;
