import { Injectable, Optional } from '@nestjs/common';
import { TokenStore } from '../auth/token-store.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { PoolRegistry } from '../redis/redis.module.js';

/** What `AdminServer` and the welcome text use of the admin application. */
@Injectable()
export class AdminContext {
  constructor(
    readonly pools: PoolRegistry,
    readonly tokens: TokenStore,
    /** Undefined if the process counts elsewhere: with one process, in the application of the queue APIs. */
    @Optional() readonly metrics?: MetricsService,
  ) {}
}
