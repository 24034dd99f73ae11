import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { ProcessLoop } from '../domain/loop.js';
import { Engines } from '../engine/engines.js';

/** Runs the loops of all engines from the start of the application to its shutdown. */
@Injectable()
export class PumpService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(private readonly engines: Engines) {}

  onApplicationBootstrap(): void {
    for (const engine of this.engines.all()) engine.start();
  }

  /** Requests have ended by now; pools are closed after this. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.engines.all().map((engine) => engine.stop()));
  }

  /** The loops of this process. */
  loops(): ProcessLoop[] {
    return this.engines.entries().flatMap(([pool, engine]) => {
      return engine.loops().map((loop) => ({ pid: process.pid, pool, ...loop }));
    });
  }
}
