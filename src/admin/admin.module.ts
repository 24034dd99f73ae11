import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { Audit } from './audit.js';
import { LimitsController } from './limits.controller.js';
import { NamespacesController } from './namespaces.controller.js';
import { QuotasController } from './quotas.controller.js';
import { RedisController } from './redis.controller.js';
import { ServerController } from './server.controller.js';
import { TokenLifecycleController } from './tokens/token-lifecycle.controller.js';
import { TokenLifecycle } from './tokens/token-lifecycle.service.js';
import { TokenAdmin } from './tokens/token-admin.service.js';
import { TokensController } from './tokens/tokens.controller.js';

/**
 * The admin port: tokens, limits and information about the server. It is the root of its own Nest application and
 * answers its errors. Needs the global Config, LOG, pools, Engines and PROCESS_COMMANDS.
 */
@Module({
  imports: [AuthModule, MetricsModule.route()],
  controllers: [
    TokensController,
    TokenLifecycleController,
    LimitsController,
    NamespacesController,
    QuotasController,
    ServerController,
    RedisController,
  ],
  providers: [Audit, TokenAdmin, TokenLifecycle, { provide: APP_FILTER, useClass: AdminErrorFilter }],
})
export class AdminModule {}
