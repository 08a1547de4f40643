import {
  DocumentLeaseStore,
  archiveExpired,
  jsonLinesSink,
  openStore,
  readJsonLines,
  type Collection,
} from 'tidemark'

export interface Session {
  readonly id: string
  readonly user: string
  readonly pages: number
  readonly ttl?: number
}

/** What the demo found at its end. */
export interface DemoResult {
  readonly archived: readonly string[]
  readonly live: readonly string[]
  readonly pendingDeletes: number
}

/** The life of sessions that expire: live, expired, pending delete, archived, purged. */
export async function runDemo(
  { data, archive: folder }: { readonly data: string; readonly archive: string },
  say: (line: string) => void,
): Promise<DemoResult> {
  await using store = await openStore({ folder: data, maintenance: { intervalMs: 100 } })
  const shop = store.database('shop')
  const sessions = await shop.createCollectionIfNotExists<Session>({
    id: 'sessions',
    partitionKey: '/user',
    defaultTtl: 1, // seconds after the last change
    pendingDeletes: { retentionSeconds: 0 }, // purged as soon as the archive has them
  })
  const leases = await shop.createCollectionIfNotExists({
    id: 'leases',
    partitionKey: '/partitionKey',
  })

  const archive = archiveExpired<Session>({
    source: sessions,
    sink: jsonLinesSink({ folder }),
    leases: new DocumentLeaseStore(leases),
  })
  // `archive.start()` does this first of all. Here it is done before, so that the waiting can be seen:
  // from now on nothing is purged that is not in the folder.
  await sessions.addWaitingGroup(archive.group)
  store.events.on('swept', ({ documents }) => say(`swept: ${documents} became pending deletes`))
  store.events.on('purged', ({ pendingDeletes }) => say(`purged: ${pendingDeletes}`))

  for (let n = 1; n <= 5; n += 1) await sessions.upsert({ id: `s${n}`, user: 'u1', pages: n })
  await sessions.upsert({ id: 'kept', user: 'u1', pages: 9, ttl: -1 })
  say(`live: ${await sessions.count()}`)

  await untilUnder(sessions, 2)
  say(`live: ${await sessions.count()}; the others have expired, for every reader at one instant`)
  await untilPendingDeletes(sessions, 5)
  say('nothing is archived yet, and so nothing is purged')
  await archive.start()
  await archive.caughtUp()
  say(`archived: ${(await archive.progress()).archived}`)
  await untilPendingDeletes(sessions, 0)
  await archive.stop()

  const archived: string[] = []
  for await (const { id, document } of readJsonLines<Session>(folder)) {
    say(`in the folder: ${id}, ${document.pages} pages`)
    archived.push(id)
  }
  const { documents } = await sessions.readDocuments()
  const { pendingDeletes } = await sessions.readExpiry()
  return { archived: archived.toSorted(), live: documents.map(({ id }) => id), pendingDeletes }
}

async function untilUnder(sessions: Collection<Session>, count: number): Promise<void> {
  while ((await sessions.count()) >= count) await shortly()
}

async function untilPendingDeletes(sessions: Collection<Session>, count: number): Promise<void> {
  while ((await sessions.readExpiry()).pendingDeletes !== count) await shortly()
}

async function shortly(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 20)
  })
}
