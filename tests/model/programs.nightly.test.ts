import { sharedPostgres } from '@tidemark/testing/servers'
import { afterAll } from 'vitest'
import { testDifferedPrograms } from './differed-programs.ts'

const server = await sharedPostgres()
afterAll(() => server[Symbol.asyncDispose]())

testDifferedPrograms('sqlite')
testDifferedPrograms('postgres', async () => ({
  engine: 'postgres',
  url: await server.createDatabase(),
}))
