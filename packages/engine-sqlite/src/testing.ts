/**
 * The engine with options that only tests set.
 *
 * @packageDocumentation
 * @internal
 */

import type { StorageEngine } from '@tidemark/store/engine'
import { openSqliteEngine, type TestedEngineOptions } from './sqlite-engine.ts'

export type { TestedEngineOptions } from './sqlite-engine.ts'

/** `openSqliteEngine`, with options that only tests set. */
export const openTestedEngine: (options: TestedEngineOptions) => Promise<StorageEngine> =
  openSqliteEngine
