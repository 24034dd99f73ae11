import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ExplainService } from './explain.service.js';
import { V1ExplainController } from './explain.v1.controller.js';

/** Why a job does not run, and why a queue gives no jobs. */
@Module({ imports: [AuthModule], controllers: [V1ExplainController], providers: [ExplainService] })
export class ExplainModule {}
