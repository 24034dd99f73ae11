import type { ChildProcess } from 'node:child_process';

/** A redis-server of the tests' own. */
export interface RedisProcess {
  readonly port: number;
  /** `redis://127.0.0.1:PORT` */
  readonly url: string;
  readonly pid: number;
  /** Where its AOF lies. */
  readonly dir: string;
  /** Ends it with SIGTERM and removes its folder, if the folder was made for it. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash would; its folder stays. */
  kill9(): Promise<void>;
}

export interface RedisProcessOptions {
  /** Stand last on the command line, so they win over the usual settings. */
  readonly args?: readonly string[];
  /** Data folder; left in place on stop. By default a new one, removed on stop. */
  readonly dir?: string;
  /** By default a free one. */
  readonly port?: number;
  /** By default that of the run. */
  readonly program?: string;
  /** True: it is not waited for until it has loaded its data, but until it says that it does. */
  readonly isLoading?: boolean;
}

export function startRedis(options?: RedisProcessOptions): Promise<RedisProcess>;
/** Settings that make a Redis of the run one that cannot be asked to wait for its disk, as all before 7.2 are. */
export function withoutWaitAof(): string[];
export function endWithUs(pid: number): ChildProcess;
