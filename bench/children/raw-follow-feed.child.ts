import { serveParent } from '../measuring/child-process.ts'
import { untilSize } from '../measuring/latency-figures.ts'
import { listenForRings } from '../raw/doorbell.ts'
import { PrototypeTail } from '../raw/prototype-tail.ts'

export type RawFollowRequest =
  | { readonly kind: 'start'; readonly file: string; readonly bell: string }
  | { readonly kind: 'take'; readonly expected: number }

export interface RawFollowReply {
  readonly arrivals: ReadonlyMap<number, number>
}

let tail: PrototypeTail | undefined
serveParent(async (request: RawFollowRequest): Promise<RawFollowReply> => {
  if (request.kind === 'start') {
    const started = new PrototypeTail(request.file)
    tail = started
    await listenForRings(request.bell, () => started.readNew())
    return { arrivals: new Map() }
  }
  if (tail === undefined) throw new Error('nothing was started')
  await untilSize(tail.arrivals, request.expected)
  const arrivals = new Map(tail.arrivals)
  tail.arrivals.clear()
  return { arrivals }
})
