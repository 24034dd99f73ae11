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
import { Actor } from '../domain/actor.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../domain/process-commands.js';
import { Engines } from '../engine/engines.js';
import { DATA_FORMAT } from '../domain/data-format.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { version } from '../domain/version.js';
import { CurrentActor } from './parameters.js';
import { AccessLogPipe, PoolPipe } from './pipes.js';

interface AccessLogStatus {
  readonly status: 'enabled' | 'disabled';
}

/** lmstfy's calls for information about the server. */
@Controller()
export class ServerController {
  constructor(
    private readonly pools: PoolRegistry,
    private readonly engines: Engines,
    @Inject(PROCESS_COMMANDS) private readonly processes: ProcessCommands,
  ) {}

  /** The existing queues of a pool by namespace: `{namespace: [queue]}`, indented, sorted by name; those of the account. */
  @Get('info')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  async info(@CurrentActor() actor: Actor, @Query('pool', PoolPipe) pool: string): Promise<string> {
    const engine = this.engines.of(pool);
    const namespaces = actor.own(await engine.namespaces());
    const queues: [string, string[]][] = [];
    // Sequential, to keep the load on Redis low: a pool may have thousands of namespaces, and this call is not urgent.
    for (const namespace of namespaces)
      queues.push([namespace, (await engine.queues.names(namespace)).sort()]);
    return `${JSON.stringify(Object.fromEntries(queues), null, 4)}\n`;
  }

  /** lmstfy's three fields, and the version of the data format in Redis. */
  @Get('version')
  version(): object {
    return {
      build_commit: version.commit,
      build_date: version.date,
      version: version.number,
      data_format: DATA_FORMAT,
    };
  }

  @Get('pools')
  listPools(): string[] {
    return [...this.pools.names()].sort();
  }

  /** `/pools/`, as lmstfy spells it; nothing may follow the slash. */
  @Get('pools/*')
  listPoolsAgain(@Param('*') rest: string): string[] {
    if (rest !== '') throw new NotFoundException();
    return this.listPools();
  }

  @Get('accesslog')
  accessLog(): AccessLogStatus {
    return statusOf(this.processes.accessLog());
  }

  /** Reads `status` from the query only, as lmstfy does. */
  @Post('accesslog')
  @HttpCode(200)
  setAccessLog(@Query('status', AccessLogPipe) isOn: boolean): AccessLogStatus {
    this.processes.setAccessLog(isOn);
    return statusOf(isOn);
  }
}

function statusOf(isOn: boolean): AccessLogStatus {
  return { status: isOn ? 'enabled' : 'disabled' };
}
