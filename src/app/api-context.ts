import { Inject, Injectable } from '@nestjs/common';
import { TokenCache } from '../auth/token-cache.js';
import { Engines } from '../engine/engines.js';
import { AccessLog } from '../http/access-log.js';
import type { ServerContext } from '../http/request/request-context.js';
import { SERVER_CONTEXT } from '../http/server-context.js';
import { FastPath } from '../jobs/fast-path.js';
import { LaterHttp } from '../later/later-http.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { PumpService } from '../pump/pump.service.js';

/** What `ApiServer` uses of its application. */
@Injectable()
export class ApiContext {
  constructor(
    readonly engines: Engines,
    readonly metrics: MetricsService,
    readonly pump: PumpService,
    readonly tokens: TokenCache,
    readonly fastPath: FastPath,
    readonly laterHttp: LaterHttp,
    readonly accessLog: AccessLog,
    @Inject(SERVER_CONTEXT) readonly server: ServerContext,
  ) {}
}
