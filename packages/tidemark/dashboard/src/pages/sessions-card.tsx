import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { QueueQuery } from '../../../src/dashboard/views.ts'
import { useRead } from '../live/use-read.ts'
import { setQuery } from '../route.ts'
import { Card, ProblemNotice } from '../ui/parts.tsx'

/** Sessions that have messages; one of them filters the messages. */
export function SessionsCard({ database, entity }: QueueQuery): VNode {
  const [after, setAfter] = useState<string | undefined>()
  const query = after === undefined ? { database, entity } : { database, entity, after }
  const { answer, problem } = useRead('sessions', query)
  const next = answer?.next ?? null
  return (
    <Card
      title="Sessions"
      end={
        <>
          <button type="button" disabled={after === undefined} onClick={() => setAfter(undefined)}>
            First page
          </button>
          <button
            type="button"
            disabled={next === null}
            onClick={() => setAfter(next ?? undefined)}
          >
            Next page
          </button>
        </>
      }
    >
      <div class="body">
        {problem !== undefined && <ProblemNotice problem={problem} />}
        {answer?.sessions.length === 0 && <p class="muted">No session has messages.</p>}
        <ul class="form">
          {answer?.sessions.map((session) => (
            <li key={session}>
              <button type="button" onClick={() => setQuery({ session, from: undefined })}>
                {session}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Card>
  )
}
