import { COMMIT_GROUP } from './commit-group.ts'
import { BEGIN_EPOCH } from './epoch-jump.ts'
import { EXPIRE_ROWS } from './expire-rows.ts'
import { EXPIRED_SECOND } from './expired-second.ts'
import { FENCES } from './fences.ts'
import { FILE_EXPIRY } from './file-expiry.ts'
import { FOLD_SEGMENTS } from './fold-segments.ts'
import { TAKE_MAINTENANCE } from './maintenance-lease.ts'
import { MAINTENANCE_STATE } from './maintenance-state.ts'
import { MESSAGE_FUNCTIONS } from './message-functions.ts'
import { MESSAGE_TABLES } from './message-tables.ts'
import { REMOVE_DROPPED } from './remove-dropped.ts'
import type { SchemaProgram } from './schema-program.ts'
import { SWEEP_EXPIRED } from './sweep-expired.ts'
import { TABLES } from './tables.ts'
import { TIMELINE_FUNCTIONS, TIMELINE_TABLE } from './timeline.ts'
import { ENTRY_FUNCTIONS } from './unique-entries.ts'

/**
 * The schema of this program. To change tables after a release, append a step. To change functions, append a step too,
 * so that earlier programs see that the functions are not their own. Nothing here was released yet.
 */
export const STORE_SCHEMA: SchemaProgram = {
  steps: [
    {
      title: 'documents, their order, ranges, fences, positions, entries of unique keys',
      ddl: TABLES,
    },
    { title: 'queues, topics and subscriptions, and their messages', ddl: MESSAGE_TABLES },
    { title: 'the timeline, which a crash ends', ddl: TIMELINE_TABLE },
  ],
  functions: [
    EXPIRED_SECOND,
    TIMELINE_FUNCTIONS,
    BEGIN_EPOCH,
    FENCES,
    ENTRY_FUNCTIONS,
    COMMIT_GROUP,
    TAKE_MAINTENANCE,
    MAINTENANCE_STATE,
    EXPIRE_ROWS,
    SWEEP_EXPIRED,
    FILE_EXPIRY,
    FOLD_SEGMENTS,
    REMOVE_DROPPED,
    MESSAGE_FUNCTIONS,
  ],
}
