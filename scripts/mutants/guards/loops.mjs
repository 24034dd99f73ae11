/**
 * Background loops: one run at a time, and nothing left once they are stopped.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LOOPS = [
  {
    name: 'loops: no two runs at once',
    file: 'src/engine/timers/loop.ts',
    from: 'this.plannedMs !== null || this.running)',
    to: 'this.plannedMs !== null)',
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'never runs twice at once',
  },
  {
    name: 'loops: a stop waits for the run under way',
    file: 'src/engine/timers/loop.ts',
    from: '    await this.running;\n',
    to: '',
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'stops when the run under way has ended',
  },
  {
    name: 'loops: an error ends a run and not the loop',
    file: 'src/engine/timers/loop.ts',
    from: '      this.record.fail(error);\n',
    to: '      throw error;\n',
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'goes on after an error',
  },
  {
    name: 'loops: the timeouts of namespaces end with the pump',
    file: 'src/engine/timers/pump.ts',
    from: 'for (const { timer } of this.wakeTimers.values()) this.timers.clear(timer);',
    to: '',
    spec: 'test/engine/loops.spec.ts',
    test: 'none once they are stopped',
  },
  {
    name: 'loops: a timeout that has fired leaves the registry',
    file: 'src/pump/registry-timers.ts',
    from: '      this.registry.deleteTimeout(name);\n      fire();',
    to: '      fire();',
    spec: 'src/pump/registry-timers.spec.ts',
    test: 'for as long as its timeout is pending',
  },
];
