import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { HealthController } from './health.controller.js';
import { ReadinessService } from './readiness.js';

/** Needs the global pools and Drain. */
@Module({ imports: [AuthModule], controllers: [HealthController], providers: [ReadinessService] })
export class HealthModule {}
