import rhea, { type Typed } from 'rhea'
import { assertReceivable, type EntityRecord, type SessionLink } from '@tidemark/messaging/front'
import type { RheaSender } from '../rhea/rhea-internals.ts'
import { notOffered } from '../errors/not-offered.ts'
import { mapEntries } from '../values/typed-values.ts'
import { AnswerLink } from './answer-link.ts'
import { BrowsingLink } from './browsing-link.ts'
import type { ClientLink, LinkHost } from './client-link.ts'
import { findEntity } from './find-entity.ts'
import { assertReceives, ReceivingLink, receiveModeOf } from './receiving-link.ts'

/** Place in a source. */
const FILTER_FIELD = 7
const SESSION_FILTER = 'com.microsoft:session-filter'
/** Which would change what a client gets. They are refused: it may not look whether they are in force. */
const REFUSED_FILTERS: readonly (readonly [
  type: string,
  code: number,
  what: Parameters<typeof notOffered>[0],
])[] = [
  ['apache.org:selector-filter:string', 0x468c_0000_0004, 'selectors'],
  ['com.microsoft:non-exclusive-session-filter', NaN, 'sessions that several receivers hold'],
]
const TIMEOUT = 'com.microsoft:timeout'
const LOCKED_UNTIL = 'com.microsoft:locked-until-utc'
/** Of a client that does not say how long it waits for a session. */
const DEFAULT_TIMEOUT_MS = 60_000
const MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
/** 0001-01-01 to 1970-01-01, in ticks of 100 ns. */
const EPOCH_TICKS = 621_355_968_000_000_000n

/** Opens a link that receives. Waits for a session if the client wants the next one; `signal`: the client has left. */
export async function openReceiving(
  sender: RheaSender,
  {
    host,
    path,
    signal,
  }: { readonly host: LinkHost; readonly path: string; readonly signal: AbortSignal },
): Promise<ClientLink> {
  host.claims.assert('Listen', path)
  const { record, isTransfer, path: found } = await findEntity(host.front, path)
  assertReceives(record)
  // It waits for answers that nobody gives.
  if (isTransfer) return new AnswerLink(sender, { path: found, rights: ['Listen'] })
  const filters = new Map(mapEntries(sender.source?.value[FILTER_FIELD], 'filter'))
  refuseFilters(filters)
  const session = filters.get(SESSION_FILTER)
  if (session !== undefined) return openSession(sender, { host, record, filter: session, signal })
  return sender.source?.distribution_mode === 'copy'
    ? openBrowsing(sender, { host, record })
    : openPlain(sender, { host, record })
}

/** By the name of a filter, or by its type. @throws ERR_PROTOCOL_VIOLATION */
function refuseFilters(filters: ReadonlyMap<string, Typed>): void {
  for (const [name, filter] of filters) {
    const descriptor: unknown = filter.descriptor
    const type =
      descriptor instanceof Object && 'value' in descriptor ? descriptor.value : undefined
    const refused = REFUSED_FILTERS.find(
      ([refusedType, code]) => refusedType === name || refusedType === type || code === type,
    )
    if (refused !== undefined) notOffered(refused[2], name)
  }
}

/** What the client asked for, with the filters that are in force only (part 3, section 3.5.3). */
function showSource(sender: RheaSender, filter?: Readonly<Record<string, Typed>>): void {
  const { source } = sender
  if (source === undefined || source === null) return
  source.filter = filter
  sender.local.attach['source'] = source.described()
}

/** A browser of JMS: it looks at messages, and takes none. */
function openBrowsing(
  sender: RheaSender,
  { host, record }: { readonly host: LinkHost; readonly record: EntityRecord },
): BrowsingLink {
  assertReceivable(record)
  showSource(sender)
  return new BrowsingLink({ sender, host, record })
}

async function openPlain(
  sender: RheaSender,
  { host, record }: { readonly host: LinkHost; readonly record: EntityRecord },
): Promise<ReceivingLink> {
  const link = host.front.openLink(record.path, receiveModeOf(sender))
  try {
    await link.listen((error) => host.links.close(sender, error))
  } catch (error) {
    await link.close()
    throw error
  }
  showSource(sender)
  return new ReceivingLink({ sender, host, record, link, session: undefined })
}

async function openSession(
  sender: RheaSender,
  {
    host,
    record,
    filter,
    signal,
  }: {
    readonly host: LinkHost
    readonly record: EntityRecord
    readonly filter: Typed
    readonly signal: AbortSignal
  },
): Promise<ReceivingLink> {
  const session = await host.front.acceptSession(record.path, {
    mode: receiveModeOf(sender),
    sessionId: sessionIdOf(filter),
    maxWaitMs: timeoutOf(sender.properties?.[TIMEOUT]),
    signal,
  })
  showSession(sender, session, filter)
  return new ReceivingLink({ sender, host, record, link: session.link, session })
}

/** Which session was granted, and until when. */
function showSession(sender: RheaSender, { held }: SessionLink, asked: Typed): void {
  const granted = rhea.types.wrap_string(held.sessionId)
  // Described as the client's is: Go takes no other.
  const descriptor: unknown = asked.descriptor
  if (descriptor !== undefined) granted.descriptor = descriptor
  showSource(sender, { [SESSION_FILTER]: granted })
  const ticks = Buffer.alloc(8)
  ticks.writeBigInt64BE(EPOCH_TICKS + BigInt(Math.floor(held.lockedUntilUtcMs)) * 10_000n)
  sender.local.attach['properties'] = { [LOCKED_UNTIL]: rhea.types.wrap_long(ticks) }
}

/** Undefined: the next one that is free. A described filter is its value. */
function sessionIdOf({ value }: Typed): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function timeoutOf(value: unknown): number {
  return typeof value === 'number' && value >= 0
    ? Math.min(value, MAX_TIMEOUT_MS)
    : DEFAULT_TIMEOUT_MS
}
