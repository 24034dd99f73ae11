import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1SettingsController } from './settings.v1.controller.js';

/** Settings of a namespace. */
@Module({ imports: [AuthModule], controllers: [V1SettingsController] })
export class SettingsModule {}
