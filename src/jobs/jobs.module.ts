import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ChangesService } from './changes.service.js';
import { V1ChangesController } from './changes.v1.controller.js';
import { LmstfyHotCalls } from './hot-calls.lmstfy.js';
import { V1HotCalls } from './hot-calls.v1.js';
import { HotCalls } from './hot-lane.js';
import { LmstfyJobsController } from './jobs.lmstfy.controller.js';
import { V1JobsController } from './jobs.v1.controller.js';
import { JobsService } from './jobs.service.js';
import { ListsService } from './lists.service.js';
import { V1ListsController } from './lists.v1.controller.js';
import { V1Leasing } from './leasing.v1.js';
import { V1OwnersController } from './owners.v1.controller.js';
import { V1PublishController } from './publish.v1.controller.js';
import { V1Publishing } from './publishing.v1.js';
import { RichJobsService } from './rich-jobs.service.js';

@Module({
  imports: [AuthModule],
  controllers: [
    LmstfyJobsController,
    V1JobsController,
    V1PublishController,
    V1OwnersController,
    V1ListsController,
    V1ChangesController,
  ],
  providers: [
    JobsService,
    RichJobsService,
    ChangesService,
    ListsService,
    LmstfyHotCalls,
    V1HotCalls,
    V1Leasing,
    V1Publishing,
    HotCalls,
  ],
})
export class JobsModule {}
