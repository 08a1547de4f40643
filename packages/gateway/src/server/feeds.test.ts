import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

test.each(['Incremental feed', 'Full-Fidelity Feed'])(
  'CF-8 an etag beyond the newest LSN (%s) is refused, also by a read that would wait, and the newest is not',
  async (mode) => {
    await using started = await testGateway()
    const changeFeedPolicy = { retentionDuration: 5 }
    const container = await started.container({ id: 'c', partitionKey: '/pk', changeFeedPolicy })
    await container.items.create({ id: 'a', pk: 'x' })
    const { headers: written } = await container.items.create({ id: 'b', pk: 'x' })
    const newest = Number(written['lsn'])
    const read = (lsn: number, headers = {}) =>
      send(started.gateway.endpoint, 'GET', '/dbs/db/colls/c/docs', {
        headers: { 'a-im': mode, 'if-none-match': `"${lsn}"`, ...headers },
      })
    const at = await read(newest)
    expect([at.status, at.headers.get('etag')]).toEqual([304, `"${newest}"`])
    for (const headers of [{}, { 'x-tidemark-wait-ms': '30000' }]) {
      expect(await read(newest + 1, headers)).toMatchObject({
        status: 400,
        json: { message: expect.stringContaining(`newest of its range is ${newest}`) },
      })
    }
    expect(started.failures).toEqual([])
  },
)
