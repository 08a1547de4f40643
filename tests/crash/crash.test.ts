import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runAmqp } from './amqp/run-amqp.ts'
import { runFeatures } from './features/run-features.ts'
import { runGateway } from './gateway/run-gateway.ts'
import { runMessaging } from './messaging/run-messaging.ts'
import { runPower } from './power/run-power.ts'
import { runPlain } from './run-plain.ts'

// A slice of what `npm run crash` does, with one seed.

test('ST-6 what was acknowledged survives kill -9 of the writing processes', async () => {
  await using folder = await temporaryFolder()
  const result = await runPlain({ ...aRun(folder.path), rounds: 1 })
  expect(result).toMatchObject({ lost: 0, indexFaults: 0 })
})

test('ST-6 TTL-13 TTL-14 CF-11 ST-9 kill -9 while documents expire and ranges split and merge loses no write and no pending delete', async () => {
  await using folder = await temporaryFolder()
  const { summary, ...verdict } = await runFeatures({ ...aRun(folder.path), rounds: 2 })
  console.log(summary)
  expect(verdict).toEqual({ lost: 0, faults: 0, missing: [] })
}, 300_000)

test('ST-6 what clients were answered over HTTP survives kill -9 of tidemark serve', async () => {
  await using folder = await temporaryFolder()
  const { summary, ...verdict } = await runGateway({ ...aRun(folder.path), rounds: 1 })
  console.log(summary)
  expect(verdict).toEqual({ lost: 0, indexFaults: 0 })
})

test('EXP-18 SET-18 kill -9 of sending and receiving processes loses no message and doubles none', async () => {
  await using folder = await temporaryFolder()
  const { summary, ...verdict } = await runMessaging({ ...aRun(folder.path), rounds: 2 })
  console.log(summary)
  expect(verdict).toEqual({ lost: 0, twice: 0, faults: 0 })
})

test('EXP-18 SET-18 kill -9 of an AMQP server under official clients loses no message and repeats none that was completed', async () => {
  await using folder = await temporaryFolder()
  const { summary, ...verdict } = await runAmqp({ ...aRun(folder.path), rounds: 1 })
  console.log(summary)
  expect(verdict).toEqual({ lost: 0, twice: 0, faults: 0 })
}, 300_000)

test('ST-6 what was synced or flushed survives the loss of power, and no LSN comes back', async () => {
  await using folder = await temporaryFolder()
  const { summary, faults } = await runPower({ ...aRun(folder.path), rounds: 3 })
  console.log(summary)
  expect(faults).toEqual([])
})

function aRun(folder: string): {
  readonly folder: string
  readonly seed: number
  readonly report: (line: string) => void
} {
  return { folder, seed: 1, report: console.log }
}

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-crash-'))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}
