import {
  ask,
  runProcedure,
  type EntitySettings,
  type Procedure,
  type RowRequest,
  type RowRequests,
} from '@tidemark/store/messages'
import { describe, expect, test } from 'vitest'
import { SeededRandom } from '../../simulation/time/seeded-random.ts'
import { ModelRows } from './model-rows.ts'
import { RandomRequests } from './random-requests.ts'

/** New tables of messages. */
export interface MessageRowsUnderTest extends AsyncDisposable {
  /** Runs a procedure as one transaction. */
  transact<Result>(procedure: Procedure<Result>): Promise<Result>
}

export interface MessageRowsConformance {
  readonly name: string
  readonly open: () => Promise<MessageRowsUnderTest>
  /** @default 8 */
  readonly seeds?: number | undefined
}

const REQUESTS = 400

const SETTINGS: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: 1_000_000,
  maxMessageBytes: 10_000,
  status: 'Active',
  userMetadata: '',
}

/** Compares the requests of procedures to an engine's tables with a model, call by call. Call it in a test file. */
export function messageRowsConformance({ name, open, seeds = 8 }: MessageRowsConformance): void {
  describe(`rows of messages: ${name}`, () => {
    test.each(Array.from({ length: seeds }, (_, seed) => seed + 1))(
      'every request is answered as by lists that are filtered and sorted, seed %i',
      async (seed) => {
        await using tables = await open()
        const model = new ModelRows()
        const [plain = 0, sessions = 0] = await tables.transact(createTwo())
        const requests = new RandomRequests(new SeededRandom(seed), model, { plain, sessions })
        for (let step = 1; step <= REQUESTS; step += 1) {
          const request = requests.next()
          const answer = await tables.transact(carryOut(request))
          if (request.kind === 'insert') {
            model.insert(await tables.transact(withIds(request.values[0])))
          } else {
            expect(answer, at(step, request)).toEqual(
              runProcedure(carryOut(request), asRows(model)),
            )
          }
        }
      },
    )
  })
}

function* createTwo(): Procedure<readonly number[]> {
  const both = [false, true].map((requiresSession) => {
    return {
      kind: 'queue',
      path: requiresSession ? 'sessions' : 'plain',
      settings: { ...SETTINGS, requiresSession },
      rules: [],
      parent: undefined,
    } as const
  })
  const created = yield* ask('createEntities', both, { storeMs: 0, lockMs: 0 })
  return 'exists' in created ? [] : created.map(({ number }) => number)
}

/** The rows that were inserted, with the ids that the engine gave them. */
function* withIds(
  rows: Parameters<RowRequests['insert']>[0],
): Procedure<Parameters<ModelRows['insert']>[0]> {
  const [first] = rows
  if (first === undefined) return []
  const numbers = rows.map(({ number }) => number)
  const stored = yield* ask('rowsByNumber', first.entity, numbers)
  const ids = new Map(stored.map(({ number, id }) => [number, id]))
  const given = numbers.map((number) => ids.get(number) ?? 0)
  expect(given).toEqual(given.toSorted((a, b) => a - b))
  return rows.map((row, index) => ({ ...row, id: given[index] ?? 0 }))
}

function* carryOut(request: RowRequest): Procedure<unknown> {
  return yield request
}

/** The model answers only what is asked here. */
function asRows(model: ModelRows): RowRequests {
  return model as unknown as RowRequests
}

function at(step: number, request: RowRequest): string {
  return `step ${step}: ${JSON.stringify(request)}`
}
