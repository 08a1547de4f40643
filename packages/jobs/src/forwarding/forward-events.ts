import type { RangeEventBase, WorkerEvent } from '../workers/job-host.ts'

/** Events of one worker that forwards. Branch on `kind`. */
export type ForwardEvent =
  | WorkerEvent
  /** The entity has the messages of these changes. */
  | ({
      readonly kind: 'forwarded'
      /** That were read; some may have become no message. */
      readonly changes: number
      readonly messages: number
      /** Of the last change. */
      readonly lsn: number
    } & RangeEventBase)
