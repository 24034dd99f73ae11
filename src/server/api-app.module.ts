import { type DynamicModule, Module } from '@nestjs/common';
import { type AppParts, CoreModule } from './core.module.js';
import { DeadletterModule } from '../deadletter/deadletter.module.js';
import { EventsModule } from '../events/events.module.js';
import { HealthModule } from '../health/health.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { WorkersModule } from '../workers/workers.module.js';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { QueuesModule } from '../queues/queues.module.js';
import { SchedulesModule } from '../schedules/schedules.module.js';
import { SettingsModule } from '../settings/settings.module.js';
import { StatsModule } from '../stats/stats.module.js';

/** The application that serves the queue API. */
@Module({})
export class ApiAppModule {
  static forRoot(parts: AppParts): DynamicModule {
    return {
      module: ApiAppModule,
      imports: [
        CoreModule.forRoot(parts),
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
      ],
    };
  }
}
