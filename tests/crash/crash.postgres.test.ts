import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runFeatures } from './features/run-features.ts'
import { PostgresScene } from './postgres/postgres-scene.ts'
import { runPlain } from './run-plain.ts'

// A slice of what `npm run crash -- --engine postgres` does, with one seed: each way for a round to end once.

const ROUNDS = 4
const seed = 1

test('ST-6 what was acknowledged survives the death of writers, of connections and of the PostgreSQL server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-crash-'))
  await using scene = await PostgresScene.start()
  try {
    const run = { folder, seed, rounds: ROUNDS, report: console.log, scene }
    expect(await runPlain(run)).toMatchObject({ lost: 0, indexFaults: 0 })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('ST-6 TTL-13 TTL-14 CF-11 ST-9 nor is a pending delete lost while documents expire and ranges split and merge on PostgreSQL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-crash-'))
  await using scene = await PostgresScene.start()
  try {
    const run = { folder, seed, rounds: ROUNDS, report: console.log, scene }
    const { summary, ...verdict } = await runFeatures(run)
    console.log(summary)
    expect(verdict).toEqual({ lost: 0, faults: 0, missing: [] })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}, 300_000)
