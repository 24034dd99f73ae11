import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { LmstfyJobsController } from './jobs.lmstfy.controller.js';
import { JobsService } from './jobs.service.js';

@Module({
  imports: [AuthModule],
  controllers: [LmstfyJobsController],
  providers: [JobsService],
})
export class JobsModule {}
