import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { LmstfyHotCalls } from './hot-calls.lmstfy.js';
import { HotCalls } from './hot-lane.js';
import { LmstfyJobsController } from './jobs.lmstfy.controller.js';
import { JobsService } from './jobs.service.js';

@Module({
  imports: [AuthModule],
  controllers: [LmstfyJobsController],
  providers: [JobsService, LmstfyHotCalls, HotCalls],
})
export class JobsModule {}
