import rhea from 'rhea'
import type { EntityRecord, SessionLink } from '@tidemark/messaging/front'
import type { RheaSender } from '../rhea/rhea-internals.ts'
import type { LinkHost } from './client-link.ts'
import { assertReceives, ReceivingLink, receiveModeOf } from './receiving-link.ts'

const SESSION_FILTER = 'com.microsoft:session-filter'
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
): Promise<ReceivingLink> {
  host.claims.assert('Listen', path)
  const record = await host.front.entity(path)
  assertReceives(record)
  const filter = sender.source?.filter
  const wantsSession =
    filter !== undefined && filter !== null && Object.hasOwn(filter, SESSION_FILTER)
  return wantsSession
    ? openSession(sender, { host, record, filter: filter[SESSION_FILTER], signal })
    : openPlain(sender, { host, record })
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
  sender.local.attach['source'] = sender.source?.described()
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
    readonly filter: unknown
    readonly signal: AbortSignal
  },
): Promise<ReceivingLink> {
  const session = await host.front.acceptSession(record.path, {
    mode: receiveModeOf(sender),
    sessionId: sessionIdOf(filter),
    maxWaitMs: timeoutOf(sender.properties?.[TIMEOUT]),
    signal,
  })
  showSession(sender, session)
  return new ReceivingLink({ sender, host, record, link: session.link, session })
}

/** Which session was granted, and until when. */
function showSession(sender: RheaSender, { held }: SessionLink): void {
  sender.set_source({
    address: sender.source?.address ?? undefined,
    filter: { [SESSION_FILTER]: rhea.types.wrap_string(held.sessionId) },
  })
  const ticks = Buffer.alloc(8)
  ticks.writeBigInt64BE(EPOCH_TICKS + BigInt(Math.floor(held.lockedUntilUtcMs)) * 10_000n)
  sender.local.attach['properties'] = { [LOCKED_UNTIL]: rhea.types.wrap_long(ticks) }
}

/** Undefined: the next one that is free. A described filter is its value. */
function sessionIdOf(filter: unknown): string | undefined {
  if (typeof filter === 'string') return filter
  const value: unknown =
    typeof filter === 'object' && filter !== null ? Reflect.get(filter, 'value') : undefined
  return typeof value === 'string' ? value : undefined
}

function timeoutOf(value: unknown): number {
  return typeof value === 'number' && value >= 0
    ? Math.min(value, MAX_TIMEOUT_MS)
    : DEFAULT_TIMEOUT_MS
}
