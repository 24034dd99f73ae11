import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { AdminHttp } from './admin-http.js';
import { Audit } from './audit.js';
import { LimitsController } from './limits.controller.js';
import { NamespacesController } from './namespaces.controller.js';
import { ServerController } from './server.controller.js';
import { TokenLifecycleController } from './token-lifecycle.controller.js';
import { TokenLifecycle } from './token-lifecycle.service.js';
import { TokenAdmin } from './token-admin.service.js';
import { TokensController } from './tokens.controller.js';

/**
 * The admin port: tokens, limits and what the server tells about itself. It is the root of its own Nest application, whose errors,
 * bodies and accounts it takes in hand. Needs the global Config, LOG, pools, EngineRegistry and WORKER_COMMANDS.
 */
@Module({
  imports: [AuthModule],
  controllers: [
    TokensController,
    TokenLifecycleController,
    LimitsController,
    NamespacesController,
    ServerController,
  ],
  providers: [
    AdminHttp,
    Audit,
    TokenAdmin,
    TokenLifecycle,
    { provide: APP_FILTER, useClass: AdminErrorFilter },
  ],
})
export class AdminModule {}
