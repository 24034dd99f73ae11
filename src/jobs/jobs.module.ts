import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { LmstfyHotCalls } from './hot-calls.lmstfy.js';
import { V1HotCalls } from './hot-calls.v1.js';
import { HotCalls } from './hot-lane.js';
import { LmstfyJobsController } from './jobs.lmstfy.controller.js';
import { V1JobsController } from './jobs.v1.controller.js';
import { JobsService } from './jobs.service.js';

@Module({
  imports: [AuthModule],
  controllers: [LmstfyJobsController, V1JobsController],
  providers: [JobsService, LmstfyHotCalls, V1HotCalls, HotCalls],
})
export class JobsModule {}
