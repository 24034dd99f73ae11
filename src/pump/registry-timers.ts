import { Injectable } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { Timers } from '../engine/timers/timers.js';

/** Stores the timeouts of the engines' loops in Nest's scheduler registry, by name. */
@Injectable()
export class RegistryTimers implements Timers {
  constructor(private readonly registry: SchedulerRegistry) {}

  set(name: string, delayMs: number, fire: () => void): void {
    this.clear(name);
    const timeout = setTimeout(() => {
      // guard: fired-timer-leaves-registry
      this.registry.deleteTimeout(name);
      fire();
    }, delayMs);
    this.registry.addTimeout(name, timeout.unref());
  }

  clear(name: string): void {
    if (this.registry.doesExist('timeout', name)) this.registry.deleteTimeout(name);
  }
}
