import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type {
  CollectionQuery,
  DocumentRow,
  Problem,
  RangeRow,
  TailEvent,
  TailQuery,
} from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { followStream } from '../live/follow-stream.ts'
import { address, parsed } from '../live/request.ts'
import { Card, Notice, ProblemNotice } from '../ui/parts.tsx'
import { DocumentsTable } from './documents-table.tsx'
import { RangeSelect } from './range-select.tsx'

export interface LiveTailProps extends CollectionQuery {
  /** Live ones. */
  readonly ranges: readonly RangeRow[]
}

/** How many changes are kept on the page. */
const KEPT = 200

interface Tail {
  /** Newest first. */
  readonly changes: readonly DocumentRow[]
  readonly seen: number
  readonly skipped: number
  readonly problem: Problem | undefined
}

const EMPTY: Tail = { changes: [], seen: 0, skipped: 0, problem: undefined }

/** Changes as they come. */
export function LiveTail({ database, collection, ranges }: LiveTailProps): VNode {
  const [range, setRange] = useState('')
  const [isRunning, setIsRunning] = useState(true)
  const [tail, setTail] = useState(EMPTY)
  useEffect(() => {
    if (!isRunning) return undefined
    const ended = new AbortController()
    const query: TailQuery = { database, collection, ...(range === '' ? {} : { range }) }
    void followTail(address('api/streams/tail', query), setTail, ended.signal)
    return () => ended.abort()
  }, [range, isRunning])
  return (
    <Card
      title="Live tail"
      end={
        <span class="muted" role="status">
          {count(tail.seen)} seen
          {tail.skipped > 0 && `, ${count(tail.skipped)} came too fast to be shown`}
        </span>
      }
    >
      <div class="body form">
        <RangeSelect
          ranges={ranges}
          value={range}
          onChange={(next) => {
            setTail(EMPTY)
            setRange(next)
          }}
        />
        <button type="button" onClick={() => setIsRunning(!isRunning)}>
          {isRunning ? 'Stop' : 'Go on'}
        </button>
        <button type="button" onClick={() => setTail(EMPTY)}>
          Clear
        </button>
      </div>
      {tail.problem !== undefined && <ProblemNotice problem={tail.problem} />}
      {!isRunning && <Notice>Stopped. What comes meanwhile is not shown later.</Notice>}
      <DocumentsTable
        caption="Changes, newest first"
        documents={tail.changes}
        empty="Nothing has changed since this page was opened."
      />
    </Card>
  )
}

function followTail(
  url: string,
  setTail: (next: (before: Tail) => Tail) => void,
  signal: AbortSignal,
): Promise<void> {
  // Answers give ids that are unique in themselves only.
  let number = 0
  const failed = (problem: Problem): void => setTail((before) => ({ ...before, problem }))
  return followStream(
    url,
    {
      onOpen: () => setTail((before) => ({ ...before, problem: undefined })),
      onDown: failed,
      onEvent: ({ event, data }) => {
        if (event === 'problem') failed(parsed(data))
        if (event !== 'changes') return
        const { changes, skipped } = parsed<TailEvent>(data)
        const named = changes.map((change) => ({ ...change, id: String((number += 1)) }))
        setTail((before) => ({
          changes: [...named.toReversed(), ...before.changes].slice(0, KEPT),
          seen: before.seen + changes.length,
          skipped: before.skipped + skipped,
          problem: undefined,
        }))
      },
    },
    signal,
  )
}
