import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1QueuesController } from './queues.v1.controller.js';

/** Queue administration: counts, settings, limits. */
@Module({ imports: [AuthModule], controllers: [V1QueuesController] })
export class QueuesModule {}
