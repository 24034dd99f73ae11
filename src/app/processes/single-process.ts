import { AdminServer } from '../admin-server.js';
import { ApiServer } from '../api-server.js';
import type { Config } from '../../config/config.js';
import type { Log } from '../../domain/log.js';
import type { ProcessLoop } from '../../domain/loop.js';
import type { PoolOptions } from '../../domain/pool.js';
import type { ProcessCommands } from '../../domain/process-commands.js';
import { Drain } from '../../http/request/drain.js';
import type { RunningServer } from './running-server.js';

/** API and admin port in one process. */
export class SingleProcess implements RunningServer {
  private constructor(
    readonly api: ApiServer,
    readonly admin: AdminServer,
  ) {}

  /** @param clock of the engines, for tests */
  static async start(
    config: Config,
    pools: Readonly<Record<string, PoolOptions>>,
    log: Log,
    clock?: () => number,
  ): Promise<SingleProcess> {
    const shared = { config, pools, log, ...(clock && { clock }) };
    const drain = new Drain();
    drain.starting = true;
    const api = await ApiServer.start({ ...shared, drain, metrics: { reads: true } });
    try {
      const parts = { ...shared, drain: new Drain() };
      const admin = await AdminServer.start(parts, new LocalCommands(api), api);
      api.endStart();
      return new SingleProcess(api, admin);
    } catch (error) {
      await api.stop();
      throw error;
    }
  }

  get apiPort(): number {
    return this.api.port;
  }

  get laterPort(): number | null {
    return this.api.laterPort;
  }

  announceEnd(): void {
    this.api.announceEnd();
    this.admin.announceEnd();
  }

  /** The admin port closes last, so that the shutdown can be observed. */
  async stop(): Promise<void> {
    this.announceEnd();
    await this.api.stop();
    await this.admin.stop();
  }

  kill(): void {
    // There are no other processes.
  }
}

/** Runs the admin port's commands in the API of the same process. */
class LocalCommands implements ProcessCommands {
  constructor(private readonly api: ApiServer) {}

  setAccessLog(on: boolean): void {
    this.api.accessLog.on = on;
  }

  accessLog(): boolean {
    return this.api.accessLog.on;
  }

  forgetTokens(): void {
    this.api.forgetTokens();
  }

  metrics(): Promise<string> {
    return this.api.metrics.text();
  }

  loops(): Promise<ProcessLoop[]> {
    return Promise.resolve(this.api.loops());
  }
}
