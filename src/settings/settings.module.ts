import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1SettingsController } from './settings.v1.controller.js';

/** What a namespace may choose. */
@Module({ imports: [AuthModule], controllers: [V1SettingsController] })
export class SettingsModule {}
