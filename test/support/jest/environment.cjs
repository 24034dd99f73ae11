const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Node.js takes a longer one for 1 ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
const SLOWNESS = Number(process.env.PUMPHOUSE_TEST_SLOWNESS ?? 1);

/** For `runtime.cjs`: the process itself, and no context of its own for each file. */
module.exports = class NativeEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  /** Only a test that hangs meets its time limit: one of its own grows with the slowness of the machine, as the usual one does. */
  handleTestEvent({ name, test }) {
    if (name === 'test_start' && test.timeout)
      test.timeout = Math.min(test.timeout * SLOWNESS, LONGEST_TIMEOUT_MS);
  }

  async teardown() {
    this.fakeTimersModern.dispose();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
};
