import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CampaignProcess } from '../../campaign/campaign-process.ts'
import { openFilesOf } from '../holdings.ts'
import type { SoakOptions, SoakResult } from '../run-soak.ts'
import type { Measure } from '../soak-verdict.ts'
import type { FrontMessage, LoadCounts, LoadMessage, LoadOrder } from './messages.ts'

export type AmqpSoakOptions = Pick<
  SoakOptions,
  'durationMs' | 'warmUpMs' | 'sampleEveryMs' | 'onProgress'
>

/** By then the front has noticed that nobody is there. */
const QUIET_MS = 300
const HOUR_MS = 3_600_000

/**
 * A front under clients that come and go, whose connections and frames break off in the middle, and one that stays. Now and
 * then they pause, and what the front holds is measured: nothing of it may grow, and nothing that was sent may be missing.
 */
export async function runAmqpSoak({
  durationMs,
  warmUpMs,
  sampleEveryMs,
  onProgress,
}: AmqpSoakOptions): Promise<SoakResult> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-soak-amqp-'))
  await using resources = new AsyncDisposableStack()
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const front = new CampaignProcess<FrontMessage>(new URL('front.child.ts', import.meta.url), {
    folder: join(folder, 'store'),
  })
  resources.defer(() => front.end())
  const { port } = await front.receive('listening')
  // Not judged: the official clients that come and go keep some memory each.
  const env = { NODE_OPTIONS: '' }
  const program = new URL('load.child.ts', import.meta.url)
  const load = new CampaignProcess<LoadMessage>(program, { port }, { env })
  resources.defer(() => load.end())
  const points = new Map<Measure, { readonly x: number; readonly y: number }[]>()
  const startMs = performance.now()
  const order = async <Kind extends LoadMessage['kind']>(
    what: LoadOrder,
    kind: Kind,
  ): Promise<Extract<LoadMessage, { readonly kind: Kind }>> => {
    load.tell(what)
    return load.receive(kind)
  }
  while (performance.now() - startMs < durationMs) {
    await order('go', 'going')
    await sleep(sampleEveryMs)
    front.assertAlive()
    const counts = await order('pause', 'paused')
    await sleep(QUIET_MS)
    const x = performance.now() - startMs
    for (const [measure, y] of await holdingsOf(front)) {
      if (x < warmUpMs) continue
      points.set(measure, [...(points.get(measure) ?? []), { x: x / HOUR_MS, y }])
    }
    onProgress?.(`${(x / 60_000).toFixed(1)} min: ${textOf(counts)}`)
  }
  const { missing, kind: _, ...happened } = await order('finish', 'finished')
  return {
    series: [...points].map(([measure, ones]) => ({ process: 'front', measure, points: ones })),
    happened,
    wrong: missing === 0 ? [] : [`${missing} messages were sent, and never came`],
  }
}

async function holdingsOf(
  front: CampaignProcess<FrontMessage>,
): Promise<readonly (readonly [Measure, number])[]> {
  front.tell('sample')
  const { heapBytes, residentBytes, resources, rheaLinks } = await front.receive('holdings')
  const open = await openFilesOf(front.pid)
  return [
    ['heap after gc', heapBytes],
    ['resident', residentBytes],
    ['resources', resources],
    ['rhea links', rheaLinks],
    ...(open === undefined
      ? []
      : ([
          ['open files', open.files],
          ['sockets', open.sockets],
        ] as const)),
  ]
}

function textOf({ visits, breaks, tornFrames, completed }: LoadCounts): string {
  return `${visits} visits, ${breaks} breaks, ${tornFrames} torn frames, ${completed} completed`
}
