import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1DeadJobsController } from './dead-jobs.v1.controller.js';
import { LmstfyDeadletterController } from './deadletter.lmstfy.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [LmstfyDeadletterController, V1DeadJobsController],
})
export class DeadletterModule {}
