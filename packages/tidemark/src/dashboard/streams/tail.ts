import type { Change, Clock, DocumentBody } from '@tidemark/contracts'
import type { ChangesPage } from '@tidemark/store'
import { problemOf } from '../requests/error-answer.ts'
import type { DocumentRow, TailEvent } from '../views.ts'
import type { EventStream } from './event-stream.ts'

const MOST_IN_EVENT = 100
const MOST_IN_SECOND = 200
const COMMENT_MS = 15_000

export interface TailParts {
  readonly stream: EventStream
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly rowOf: (change: Change) => DocumentRow
}

/** Sends changes as they come, until the signal ends it. What comes too fast is counted, not sent. */
export async function sendTail(
  pages: AsyncGenerator<ChangesPage<DocumentBody>, void, undefined>,
  { stream, clock, signal, rowOf }: TailParts,
): Promise<void> {
  const comments = sendComments(stream, clock, signal)
  let secondMs = clock.monotonicMs()
  let sent = 0
  let skipped = 0
  try {
    for await (const { changes } of pages) {
      const nowMs = clock.monotonicMs()
      if (nowMs - secondMs >= 1_000) {
        secondMs = nowMs
        sent = 0
      }
      const room = stream.isFull ? 0 : Math.min(MOST_IN_EVENT, MOST_IN_SECOND - sent)
      const shown = changes.slice(0, room).map(rowOf)
      skipped += changes.length - shown.length
      if (shown.length === 0) continue
      sent += shown.length
      const event: TailEvent = { changes: shown, skipped }
      stream.send('changes', JSON.stringify(event))
      skipped = 0
    }
  } catch (error) {
    if (!signal.aborted) stream.send('problem', JSON.stringify(problemOf(error)))
  }
  stream.end()
  await comments
}

async function sendComments(stream: EventStream, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(COMMENT_MS, signal, { purpose: 'background' }).catch(() => {})
    if (signal.aborted) return
    stream.comment()
  }
}
