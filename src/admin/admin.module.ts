import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { MetricsModule } from '../metrics/metrics.module.js';
import { AdminErrorFilter } from './admin-error.filter.js';
import { Audit } from './audit/audit.js';
import { AuditController } from './audit/audit.controller.js';
import { LimitsController } from './limits.controller.js';
import { OverviewController } from './overview/overview.controller.js';
import { OverviewService } from './overview/overview.service.js';
import { QueueHistoryService } from './overview/queue-history.service.js';
import { NamespacesController } from './namespaces.controller.js';
import { QuotasController } from './quotas.controller.js';
import { FormatsController, RedisController } from './redis.controller.js';
import { OidcStore } from '../auth/oidc-store.js';
import { SessionStore } from '../auth/session-store.js';
import { Config } from '../config/config.js';
import { LOG, type Log } from '../domain/log.js';
import { Oidc } from './oidc/oidc.js';
import { OidcController } from './oidc/oidc.controller.js';
import { Sessions } from './sessions/sessions.js';
import { SessionsController } from './sessions/sessions.controller.js';
import { SignIn } from './sessions/sign-in.js';
import { ServerController } from './server.controller.js';
import { TokenLifecycleController } from './tokens/token-lifecycle.controller.js';
import { TokenLifecycle } from './tokens/token-lifecycle.service.js';
import { TokenAdmin } from './tokens/token-admin.service.js';
import { TokensController } from './tokens/tokens.controller.js';

/**
 * The admin port: tokens, limits and information about the server. It is the root of its own Nest application and
 * answers its errors. Needs the global Config, LOG, pools, Engines, PROCESS_COMMANDS, SignIn and AuditTrail.
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
    FormatsController,
    SessionsController,
    OidcController,
    AuditController,
    OverviewController,
  ],
  providers: [
    Audit,
    OverviewService,
    QueueHistoryService,
    TokenAdmin,
    TokenLifecycle,
    {
      provide: Oidc,
      inject: [Config, OidcStore, SessionStore, LOG],
      useFactory: ({ admin }: Config, store: OidcStore, sessions: SessionStore, log: Log) =>
        new Oidc(admin, { store, sessions, log }),
    },
    {
      provide: Sessions,
      inject: [SignIn, SessionStore, Oidc],
      useFactory: ({ accounts, cookie }: SignIn, store: SessionStore, oidc: Oidc) =>
        new Sessions(accounts, cookie, store, oidc.sessions),
    },
    { provide: APP_FILTER, useClass: AdminErrorFilter },
  ],
})
export class AdminModule {}
