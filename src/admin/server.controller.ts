import {
  Controller,
  Get,
  Header,
  HttpCode,
  Inject,
  NotFoundException,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import { DEFAULT_POOL } from '../auth/credentials.js';
import { QueueError } from '../domain/errors.js';
import { WORKER_COMMANDS, type WorkerCommands } from '../domain/worker-commands.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { version } from '../http/version.js';

interface AccessLogStatus {
  readonly status: 'enabled' | 'disabled';
}

/** lmstfy's calls about the server itself. */
@Controller()
export class ServerController {
  constructor(
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(WORKER_COMMANDS) private readonly workers: WorkerCommands,
  ) {}

  /** The queues that a pool's namespaces have now: `{namespace: [queue]}`, indented, in order of names. */
  @Get('info')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  async info(@Query('pool') asked = ''): Promise<string> {
    const pool = asked === '' ? DEFAULT_POOL : asked;
    if (!this.pools.get(pool)) throw new QueueError('pool_not_found', 'the pool was not exists');
    const engine = this.engines.forPool(pool);
    const namespaces = (await engine.namespaces()).sort();
    const queues: [string, string[]][] = [];
    // One after the other: a pool may have thousands, and nobody waits for this call.
    for (const namespace of namespaces) queues.push([namespace, (await engine.queues(namespace)).sort()]);
    return `${JSON.stringify(Object.fromEntries(queues), null, 4)}\n`;
  }

  @Get('version')
  version(): object {
    return { build_commit: version.commit, build_date: version.date, version: version.number };
  }

  @Get('pools')
  listPools(): string[] {
    return [...this.pools.names()].sort();
  }

  /** `/pools/`, lmstfy's own spelling: what stands behind the slash must be nothing. */
  @Get('pools/*')
  listPoolsAgain(@Param('*') rest: string): string[] {
    if (rest !== '') throw new NotFoundException();
    return this.listPools();
  }

  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  async metrics(): Promise<string> {
    return this.workers.metrics();
  }

  @Get('accesslog')
  accessLog(): AccessLogStatus {
    return { status: this.workers.accessLog() ? 'enabled' : 'disabled' };
  }

  /** `status` in the query only, as lmstfy reads it. */
  @Post('accesslog')
  @HttpCode(200)
  setAccessLog(@Query('status') status?: string): AccessLogStatus {
    if (status !== 'enable' && status !== 'disable')
      throw new QueueError('invalid_argument', 'invalid status');
    this.workers.setAccessLog(status === 'enable');
    return { status: `${status}d` };
  }
}
