import { SchedulerRegistry } from '@nestjs/schedule';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeTimers, type Timers } from '../engine/timers/timers.js';
import { RegistryTimers } from './registry-timers.js';

describe.each<[string, () => Timers]>([
  ["Node's timeouts", () => new NodeTimers()],
  ["timeouts in Nest's registry", () => new RegistryTimers(new SchedulerRegistry())],
])('named timers by %s', (_name, make) => {
  let timers: Timers;
  let fired: string[];
  beforeEach(() => {
    timers = make();
    fired = [];
  });
  const fire = (name: string) => (): void => void fired.push(name);
  /** A busy machine may be late with any timer. */
  const hasFired = async (name: string): Promise<void> => {
    for (const here = fired; !here.includes(name);) await sleep(1);
  };

  it('fire once each, in the order of their delays', async () => {
    timers.set('later', 20, fire('later'));
    timers.set('sooner', 5, fire('sooner'));
    await hasFired('later');
    expect(fired).toEqual(['sooner', 'later']);
  });

  it('are replaced by a timer of the same name', async () => {
    timers.set('loop', 5, fire('old'));
    timers.set('loop', 10, fire('new'));
    await hasFired('new');
    expect(fired).toEqual(['new']);
  });

  it('may be set again by their own function', async () => {
    timers.set('loop', 1, () => {
      fired.push('first');
      timers.set('loop', 1, fire('second'));
    });
    await hasFired('second');
    expect(fired).toEqual(['first', 'second']);
  });

  it('do not fire when they were cleared', async () => {
    timers.set('loop', 5, fire('loop'));
    timers.clear('loop');
    timers.clear('never set');
    timers.set('last', 20, fire('last'));
    await hasFired('last');
    expect(fired).toEqual(['last']);
  });
});

describe("Nest's registry of timeouts", () => {
  it('contains the name of a timer only while the timer is pending', async () => {
    const registry = new SchedulerRegistry();
    const timers = new RegistryTimers(registry);
    timers.set('janitor:default', 10_000, () => undefined);
    timers.set('pump:default:mail', 1, () => undefined);
    timers.set('pump:default:mail', 2, () => undefined);
    expect(registry.getTimeouts()).toEqual(['janitor:default', 'pump:default:mail']);
    while (registry.getTimeouts().length > 1) await sleep(1);
    expect(registry.getTimeouts()).toEqual(['janitor:default']);
    timers.clear('janitor:default');
    expect(registry.getTimeouts()).toEqual([]);
  });
});
