import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1StatsController } from './stats.v1.controller.js';

/** Statistics of jobs. */
@Module({ imports: [AuthModule], controllers: [V1StatsController] })
export class StatsModule {}
