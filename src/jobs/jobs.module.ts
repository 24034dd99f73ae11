import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ChangesService } from './changes.service.js';
import { V1CancelsController } from './v1/cancels.v1.controller.js';
import { V1ChangesController } from './v1/changes.v1.controller.js';
import { LeaseDelivery } from './lease-delivery.js';
import { LmstfyFastCalls } from './lmstfy/fast-calls.lmstfy.js';
import { V1FastCalls } from './v1/fast-calls.v1.js';
import { FastCalls, FastPath } from './fast-path.js';
import { LmstfyJobsController } from './lmstfy/jobs.lmstfy.controller.js';
import { V1JobsController } from './v1/jobs.v1.controller.js';
import { V1ListsController } from './v1/lists.v1.controller.js';
import { V1LeaseOperations } from './v1/lease-operations.v1.js';
import { V1Leasing } from './v1/leasing.v1.js';
import { V1LeasesController } from './v1/leases.v1.controller.js';
import { V1PublishController } from './v1/publish.v1.controller.js';
import { V1Publishing } from './v1/publishing.v1.js';
import { JobsService } from './jobs.service.js';

@Module({
  imports: [AuthModule],
  controllers: [
    LmstfyJobsController,
    V1JobsController,
    V1PublishController,
    V1LeasesController,
    V1ListsController,
    V1ChangesController,
    V1CancelsController,
  ],
  providers: [
    JobsService,
    ChangesService,
    LeaseDelivery,
    LmstfyFastCalls,
    V1FastCalls,
    V1Leasing,
    V1LeaseOperations,
    V1Publishing,
    FastCalls,
    FastPath,
  ],
  exports: [FastPath],
})
export class JobsModule {}
