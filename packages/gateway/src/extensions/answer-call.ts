import { lsn, BadRequestError } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import { readPartitionText } from '@tidemark/store/engine'
import type { FoundCollection } from '../collections/collection-directory.ts'
import { inRange } from '../documents/key-scope.ts'
import { fullPartitionKey } from '../documents/partition-key-header.ts'
import { jsonAnswer, type Answer } from '../protocol/answer.ts'
import { OWN_HEADER, type ExtensionCall } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { METADATA_CHARGE, chargeText, pageCharge } from '../protocol/request-charge.ts'
import { parseJsonRecord } from '../protocol/request-values.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { collectionNames } from '../resources/resource-names.ts'
import { parseCall, parseOrder } from './parse-call.ts'
import { rowsBody } from './rows-body.ts'

/** Of documents in one snapshot. Leases and dead letters of large groups take a fraction of it. */
const MAX_PARTITION_CHARS = 16 * 1024 * 1024
/** Of reading one, for its turn among queries: most have a few documents. */
const PARTITION_STEPS = 1_000

interface CallScope {
  readonly request: GatewayRequest
  readonly context: GatewayContext
  readonly found: FoundCollection
}

/** GET …/operations/tidemark: what our own client asks of a feed or a collection beyond the service's protocol. */
export const answerCall: Operation = async (request, context) => {
  const call = parseCall(request.header(OWN_HEADER.call))
  return context.collections.use(collectionNames(request.path), (found) =>
    answerTo(call, { request, context, found }),
  )
}

/** POST …/operations/tidemark: keeps positions of processor groups, or waits until batches are on disk. */
export const answerOrder: Operation = async (request, context) => {
  const order = parseOrder(parseJsonRecord(await request.readBody()))
  return context.collections.use(collectionNames(request.path), async ({ collection, open }) => {
    assertIntended(request, open.record)
    if (order.kind === 'flush') await open.engine.flush?.()
    else await collection.positions.report(order.positions)
    return { status: 204, headers: { [HEADER.requestCharge]: chargeText(METADATA_CHARGE) } }
  })
}

async function answerTo(call: ExtensionCall, scope: CallScope): Promise<Answer> {
  const { collection, open } = scope.found
  assertIntended(scope.request, open.record)
  const { signal } = scope.request
  switch (call.call) {
    case 'resolveStart':
      return answer(await collection.resolveStart({ ...call, signal }))
    case 'positionAt':
      return answer(await collection.positionAt({ ...call, lsn: lsn(call.lsn), signal }))
    case 'measureLag':
      return answer(await collection.measureLag({ ...call, signal }))
    case 'readPage':
      return readPage(call, scope)
    case 'waitForChanges':
      return answer(await hasCome(call, scope))
    case 'awaitPage':
      return (await hasCome(call, scope)) ? readPage(call, scope) : answer(false)
    case 'joinPositions':
      return answer((await collection.joinPositions({ ...call, signal })) ?? null)
    case 'readPositions':
      return answer(await collection.positions.read(call.group))
    case 'readPartition':
      return readPartition(call, scope)
    case 'waitForCommit': {
      const partitionKey = fullPartitionKey(call.partitionKey, scope.found.open)
      const afterLsn = lsn(call.afterLsn)
      return answer(
        await waiting(call.timeoutMs, scope, (wait) =>
          collection.waitForCommit({ partitionKey, afterLsn, ...wait }),
        ),
      )
    }
    default:
      return assertNever(call)
  }
}

/** A page of either mode, within the budget of its range; of the state that the session has seen, at least. */
async function readPage(
  call: Extract<ExtensionCall, { call: 'readPage' | 'awaitPage' }>,
  { request, context, found: { collection, open } }: CallScope,
): Promise<Answer> {
  const { signal } = request
  const range = await context.ranges.holding(open, call.range.minInclusive)
  return inRange(request, context, { open, range }, async () => {
    const token = request.header(HEADER.sessionToken)
    const keys = call.range
    if (token !== undefined) {
      await context.sessions.assertReached(open, { range, keys, token, signal })
    }
    const page = await collection.readPageRows({ ...call, signal })
    const body = rowsBody(page, { ...call, collection: open.stamp.collection })
    let chars = 0
    for (const piece of body) chars += piece.length
    return { status: 200, charge: pageCharge(chars), lsn: page.lsn, body }
  })
}

async function readPartition(
  { partitionKey: text }: Extract<ExtensionCall, { call: 'readPartition' }>,
  { request, context, found: { open } }: CallScope,
): Promise<Answer> {
  const partitionKey = fullPartitionKey(text, open)
  const range = await context.ranges.holding(open, open.encoder.encodeKey(partitionKey).epk)
  return inRange(request, context, { open, range }, async () => {
    await request.turn(PARTITION_STEPS)
    const { bodies, isWhole, serverTimeMs } = await readPartitionText(open, partitionKey, {
      maxChars: MAX_PARTITION_CHARS,
      signal: request.signal,
    })
    if (!isWhole) {
      throw new BadRequestError(
        `the partition has more than ${MAX_PARTITION_CHARS} characters, too many for one read: read its documents in pages`,
      )
    }
    const documents = bodies.map((body, index) => (index === 0 ? body : `,${body}`))
    const body = [`{"serverTimeMs":${serverTimeMs},"documents":[`, ...documents, ']}']
    const chars = bodies.reduce((sum, { length }) => sum + length, 0)
    return { status: 200, charge: pageCharge(chars), body }
  })
}

function hasCome(
  call: Extract<ExtensionCall, { call: 'waitForChanges' | 'awaitPage' }>,
  scope: CallScope,
): Promise<boolean> {
  const { collection } = scope.found
  return waiting(call.timeoutMs, scope, (wait) => collection.waitForChanges({ ...call, ...wait }))
}

/** Waits at most as long as the gateway allows. A gateway that stops answers that nothing has come. */
async function waiting(
  wantedMs: number,
  { request, context }: CallScope,
  wait: (limits: { readonly timeoutMs: number; readonly signal: AbortSignal }) => Promise<boolean>,
): Promise<boolean> {
  const { draining } = request
  const timeoutMs = Math.min(wantedMs, context.maxWaitMs)
  const signal = AbortSignal.any([request.signal, draining])
  try {
    if (draining.aborted) return false
    return await request.whileWaiting(() => wait({ timeoutMs, signal }))
  } catch (error) {
    if (!draining.aborted || request.signal.aborted) throw error
    return false
  }
}

function answer(value: unknown): Answer {
  return jsonAnswer(200, value, { [HEADER.requestCharge]: chargeText(METADATA_CHARGE) })
}
