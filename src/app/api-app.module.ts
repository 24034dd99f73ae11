import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { type AppParts, CoreModule } from './core.module.js';
import { DeadletterModule } from '../deadletter/deadletter.module.js';
import { EventsModule } from '../events/events.module.js';
import { ApiErrorFilter } from '../http/answer/error.filter.js';
import { QueryInterceptor } from '../http/query.interceptor.js';
import { HealthModule } from '../health/health.module.js';
import { LaterModule } from '../later/later.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { WorkersModule } from '../workers/workers.module.js';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { PumpModule } from '../pump/pump.module.js';
import { PushModule } from '../push/push.module.js';
import { QueuesModule } from '../queues/queues.module.js';
import { SchedulesModule } from '../schedules/schedules.module.js';
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
        PumpModule,
        JobsModule,
        DeadletterModule,
        QueuesModule,
        StatsModule,
        SettingsModule,
        EventsModule,
        HealthModule,
        OpenApiModule,
        SchedulesModule,
        WorkersModule,
        PushModule,
        LaterModule,
      ],
      providers: [
        { provide: APP_FILTER, useClass: ApiErrorFilter },
        { provide: APP_INTERCEPTOR, useClass: QueryInterceptor },
      ],
    };
  }
}
