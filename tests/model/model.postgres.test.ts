import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll } from 'vitest'
import { modelSlice } from './model-slice.ts'

let postgres: SharedPostgres | undefined
beforeAll(async () => {
  postgres = await sharedPostgres()
})
afterAll(() => postgres?.[Symbol.asyncDispose]())

modelSlice({
  engine: 'postgres',
  sequences: 6,
  messageSequences: 6,
  place: async () => ({ engine: 'postgres', url: (await postgres?.createDatabase()) ?? '' }),
})
