import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { OperationsService } from './operations.service.js';
import { V1OperationsController } from './operations.v1.controller.js';

/** Actions over all jobs that a filter matches. */
@Module({ imports: [AuthModule], controllers: [V1OperationsController], providers: [OperationsService] })
export class OperationsModule {}
