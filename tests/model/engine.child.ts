import { CodedError, RangeGoneError, systemClock } from '@tidemark/contracts'
import { openTestedEngine } from '@tidemark/engine-sqlite/testing'
import type { StorageEngine } from '@tidemark/store'
import type { DatabaseEngine } from '@tidemark/store/engine'
import type { EngineAnswer, EngineCall, EngineError } from './engine-messages.ts'
import { SEGMENT_SLOTS } from './segment-slots.ts'

// Opens a folder, and does there what its parent asks for; ends when the parent lets go of it.

let nowMs = 0
let passedMs = 0
const machineMs = (): number => passedMs
const clock = { ...systemClock, wallMs: () => nowMs, monotonicMs: machineMs }
let engine: StorageEngine | undefined
const databases = new Map<string, DatabaseEngine>()

process.on('message', (call: EngineCall) => {
  void answer(call)
})

async function answer(call: EngineCall): Promise<void> {
  const { number } = call
  ;({ nowMs, passedMs } = call)
  let told: Pick<EngineAnswer, 'value' | 'error'>
  try {
    told = { value: await carryOut(call) }
  } catch (error) {
    told = { error: errorText(error) }
  }
  const storeMs = databases.get(call.database ?? '')?.nowMs() ?? nowMs
  process.send?.({ ...told, number, storeMs } satisfies EngineAnswer)
}

async function carryOut({ database, method, args }: EngineCall): Promise<unknown> {
  if (database !== undefined) return call(databases.get(database), method, args)
  if (method === 'open') {
    const segmentSlots = SEGMENT_SLOTS
    engine = await openTestedEngine({
      folder: String(args[0]),
      durability: 'relaxed',
      segmentSlots,
      clock,
      machineMs,
    })
    const { description, storeId, supports } = engine
    return { description, storeId, supports }
  }
  if (method === 'openDatabase') {
    const id = String(args[0])
    const opened = await engine?.openDatabase(id)
    if (opened !== undefined) databases.set(id, opened)
    return opened?.record
  }
  if (method === 'close') databases.clear()
  return call(engine, method, args)
}

function call(target: object | undefined, method: string, args: readonly unknown[]): unknown {
  const act: unknown = target && Reflect.get(target, method)
  if (typeof act !== 'function') throw new TypeError(`there is no ${method}`)
  return Reflect.apply(act, target, args)
}

function errorText(error: unknown): EngineError {
  const code = error instanceof CodedError ? error.code : undefined
  const message = error instanceof Error ? (code ? error.message : (error.stack ?? '')) : ''
  const successors = error instanceof RangeGoneError ? error.successors : undefined
  return { code, message, successors }
}
