import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { ApiContext } from './api-context.js';
import { createApplication } from './application.js';
import { AuthModule } from '../auth/auth.module.js';
import { type AppParts, CoreModule } from './core.module.js';
import { DeadletterModule } from '../deadletter/deadletter.module.js';
import { EventsModule } from '../events/events.module.js';
import { ExplainModule } from '../explain/explain.module.js';
import { ApiErrorFilter } from '../http/answer/error.filter.js';
import { CallInterceptor } from '../http/call.interceptor.js';
import { version } from '../domain/version.js';
import { apiAdapter } from '../http/adapter.js';
import { HttpModule } from '../http/http.module.js';
import { HealthModule } from '../health/health.module.js';
import { OperationsModule } from '../operations/operations.module.js';
import { LaterModule } from '../later/later.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { PumpModule } from '../pump/pump.module.js';
import { PushModule } from '../push/push.module.js';
import { QueuesModule } from '../queues/queues.module.js';
import { RecurringModule } from '../recurring/recurring.module.js';
import { SettingsModule } from '../settings/settings.module.js';
import { StatsModule } from '../stats/stats.module.js';

/** The Nest application that serves the queue APIs. */
@Module({})
export class ApiAppModule {
  static forRoot(parts: AppParts): DynamicModule {
    return {
      module: ApiAppModule,
      imports: [
        CoreModule.forRoot(parts),
        HttpModule.forApi(),
        AuthModule,
        PumpModule,
        JobsModule,
        DeadletterModule,
        QueuesModule,
        StatsModule,
        ExplainModule,
        OperationsModule,
        SettingsModule,
        EventsModule,
        HealthModule,
        OpenApiModule.forRoot(() => apiDocumentOf(parts)),
        RecurringModule,
        SessionsModule,
        PushModule,
        LaterModule,
      ],
      providers: [
        { provide: APP_FILTER, useClass: ApiErrorFilter },
        { provide: APP_INTERCEPTOR, useClass: CallInterceptor },
        ApiContext,
      ],
    };
  }
}

/** Builds the document of the native API. A preview creates no provider: nothing connects to Redis. */
export async function apiDocumentOf(parts: AppParts): Promise<object> {
  const adapter = apiAdapter({ settings: parts.config.server });
  const [app, { buildDocument }] = await Promise.all([
    createApplication(ApiAppModule.forRoot(parts), adapter, true),
    import('../openapi/document.js'),
  ]);
  const document = await buildDocument(app, version.number);
  await app.close();
  return document;
}
