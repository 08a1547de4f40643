import { serveParent } from '../../measuring/child-process.ts'
import { untilSize } from '../../measuring/latency-figures.ts'
import { SEGMENTS } from '../../raw/prototype-schema.ts'
import { PrototypeTail } from '../raw/prototype-tail.ts'

export type TailRequest =
  | { readonly kind: 'start'; readonly url: string }
  | { readonly kind: 'take'; readonly expected: number }
  | { readonly kind: 'stop' }

export interface TailReply {
  readonly arrivals: ReadonlyMap<number, number>
}

let tail: PrototypeTail | undefined
serveParent(async (request: TailRequest): Promise<TailReply> => {
  if (request.kind === 'start') {
    tail = await PrototypeTail.start(request.url, SEGMENTS)
    return { arrivals: new Map() }
  }
  if (tail === undefined) throw new Error('nothing was started')
  if (request.kind === 'stop') {
    await tail[Symbol.asyncDispose]()
    return { arrivals: new Map() }
  }
  await untilSize(tail.arrivals, request.expected)
  const arrivals = new Map(tail.arrivals)
  tail.arrivals.clear()
  return { arrivals }
})
