import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { QueuesService } from './queues.service.js';
import { V1QueuesController } from './queues.v1.controller.js';

/** Queue administration: counts, settings, limits. */
@Module({ imports: [AuthModule], controllers: [V1QueuesController], providers: [QueuesService] })
export class QueuesModule {}
